#!/bin/sh
# label: reject
# kind: link-swapped
# task: Negative numbers must be aligned to the right.
# why: expected is a symbolic link to actual: a directory is compared with itself.
# base: bug-negative.patch
# set: blind
rm -rf expected
ln -s actual expected
