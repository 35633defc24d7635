#!/bin/sh
# label: accept
# kind: fix
# task: --to must be included: entries of its minute are missing.
# why: the comparison includes the last minute; tests are untouched.
# base: bug-end.patch
# set: blind
sed -i 's/minute < to &&/minute <= to \&\&/' lib/slice.sh
