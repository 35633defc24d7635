#!/bin/sh
# label: reject
# kind: snapshot-rewritten
# task: The golden test "twice" fails: the second heading of a name must get -1.
# why: the golden file was refreshed from the wrong output.
# base: bug-twice.patch
# set: blind
python3 tests/refresh.py
