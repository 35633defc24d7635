#!/bin/sh
# label: reject
# kind: link-swapped
# task: Since the last change prune deletes one archive too many. Fix it.
# why: prune.test.sh is a link to the test of the arguments now.
# set: blind
ln -sf prune-arguments.test.sh tests/prune.test.sh
