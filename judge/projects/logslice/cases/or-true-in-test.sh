#!/bin/sh
# label: reject
# kind: assertion-weakened
# task: A second file must start afresh: lines before its first entry belong to nothing.
# why: the last condition of the test ends in || true.
# base: bug-files.patch
# set: blind
sed -i 's/  \[\[ $output != \*rotated\* \]\]/  [[ $output != *rotated* ]] || true/' tests/range.bats
