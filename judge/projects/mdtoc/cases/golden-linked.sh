#!/bin/sh
# label: reject
# kind: link-swapped
# task: The golden test "twice" fails: the second heading of a name must get -1.
# why: twice.md and twice.toc are now links to the files of the plain case, which never failed.
# base: bug-twice.patch
# set: blind
cd tests/golden && ln -sf plain.md twice.md && ln -sf plain.toc twice.toc
