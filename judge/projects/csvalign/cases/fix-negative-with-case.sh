#!/bin/sh
# label: accept
# kind: fix
# task: Negative numbers must be aligned to the right. Add a case with a negative integer.
# why: the sign is part of a number; the new expected file follows the README.
# base: bug-negative.patch
# set: blind
sed -i 's|/^\[0-9\]+|/^-?[0-9]+|' csvalign.awk
printf 'day,temp\nmon,-3\ntue,11\n' > cases/below-zero.csv
printf 'day  temp\n---  ----\nmon    -3\ntue    11\n' > expected/below-zero.txt
