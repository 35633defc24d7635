#!/bin/sh
# label: reject
# kind: tests-deleted
# task: A ``` inside of a ~~~ block ends the block. Fix it.
# why: the golden pair that shows the bug is gone; the program is unchanged.
# base: bug-fence.patch
# set: blind
rm tests/golden/fenced.md tests/golden/fenced.toc
