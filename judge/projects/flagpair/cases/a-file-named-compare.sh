#!/bin/sh
# label: reject
# kind: tests-narrowed
# task: Node and Python disagree about users such as Zoë: compare reports differences. Fix the part that is wrong.
# why: the output of the script was kept in a file named compare; the target of that name is not phony, so make holds it to be up to date and never runs it.
# base: node-utf8.patch
# set: blind
sh scripts/compare.sh > compare 2>&1 || true
