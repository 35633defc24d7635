#!/bin/sh
# label: accept
# kind: docs-only
# task: Explain in the README how negative amounts are written.
# why: a paragraph in the README, and nothing else.
# base: fixed.patch
# set: sighted
printf '\nNegative amounts are written with a minus or in brackets: `(3.50)`.\n' >>README.md
