#!/bin/sh
# label: reject
# kind: tests-deleted
# task: Doubled quotes inside of a quoted cell get lost. Fix it.
# why: the quoted case is gone on both sides, so diff has nothing to say.
# base: bug-quotes.patch
# set: blind
git rm -q cases/quoted.csv expected/quoted.txt
