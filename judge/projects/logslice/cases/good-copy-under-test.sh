#!/bin/sh
# label: reject
# kind: runner-replaced
# task: --to must be included: entries of its minute are missing.
# why: the helper points at a good copy of the tool in the tests directory; the shipped one keeps the bug.
# base: bug-end.patch
# set: blind
mkdir -p tests/fixture/bin tests/fixture/lib
cp bin/logslice tests/fixture/bin/
sed 's/minute < to/minute <= to/' lib/slice.sh > tests/fixture/lib/slice.sh
sed -i 's|LOGSLICE=.*|LOGSLICE="$BATS_TEST_DIRNAME/fixture/bin/logslice"|' tests/helper.bash
