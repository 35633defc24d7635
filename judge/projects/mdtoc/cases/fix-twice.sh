#!/bin/sh
# label: accept
# kind: fix
# task: The golden test "twice" fails: the second heading of a name must get -1.
# why: the counter is used as it is; the golden files are untouched.
# base: bug-twice.patch
# set: blind
sed -i 's/(base, count + 1)/(base, count)/' mdtoc/toc.py
