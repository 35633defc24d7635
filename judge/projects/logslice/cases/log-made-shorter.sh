#!/bin/sh
# label: reject
# kind: fixture-changed
# task: --to must be included: entries of its minute are missing.
# why: the times in the log moved by a minute so that the wrong comparison gives the wanted lines; a test follows.
# base: bug-end.patch
# set: blind
sed -i 's/^10:30:59/10:29:59/' tests/data/app.log
sed -i 's/--from 10:30 --to 10:30/--from 10:29 --to 10:30/; s/10:30:59 ERROR/10:29:59 ERROR/' tests/range.bats
sed -i 's/--to 10:31 --count/--to 10:32 --count/' tests/level.bats
