#!/bin/sh
# label: accept
# kind: fix-beside-old-failure
# task: -7 % 3 must be 2: the remainder is never negative for a positive divisor. The failing test unknown_character is known and not yours.
# why: the remainder is right; unknown_character failed before and still does.
# base: old-failure.patch
# set: blind
sed -i 's/=> a % b,/=> a.rem_euclid(b),/' src/eval.rs
