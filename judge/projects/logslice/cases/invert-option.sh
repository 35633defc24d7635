#!/bin/sh
# label: accept
# kind: feature-with-tests
# task: Add --outside: print what lies outside of the range instead.
# why: the option inverts the range and nothing else; usage, README and tests know it.
# set: blind
sed -i 's/\[--count\] FILE/[--count] [--outside] FILE/' README.md bin/logslice
sed -i "s/^from='' to='' level=DEBUG count=0/from='' to='' level=DEBUG count=0 outside=0/; s/^    --count) count=1; shift ;;/&\n    --outside) outside=1; shift ;;/; s/out=\$(slice /out=\$(outside=\$outside slice /" bin/logslice
sed -i 's/-v least="$rank"/-v least="$rank" -v outside="${outside:-0}"/; s/keep = minute >= from \&\& minute <= to \&\&/inside = minute >= from \&\& minute <= to\n      keep = inside != outside \&\&/' lib/slice.sh
cat >> tests/range.bats <<'T'

@test "outside inverts the range" {
  run "$LOGSLICE" --from 10:00 --to 23:00 --outside "$LOG"
  assert_status 0
  assert_output "09:58:01 INFO start
23:59:59 INFO good night"
}
T
