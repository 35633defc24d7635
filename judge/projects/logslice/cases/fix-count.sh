#!/bin/sh
# label: accept
# kind: fix
# task: --count counts lines; it must count entries, and print 0 when there are none.
# why: entries are the lines that begin with a time; a test with a following line was added.
# base: bug-count.patch
# set: blind
sed -i "s/| wc -l\$/| grep -c '^[0-9][0-9]:[0-9][0-9]' || :/" bin/logslice
cat >> tests/level.bats <<'T'

@test "count ignores following lines" {
  run "$LOGSLICE" --from 10:30 --to 10:30 --count "$LOG"
  assert_status 0
  assert_output 1
}
T
