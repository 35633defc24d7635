load helper

@test "level keeps higher levels" {
  run "$LOGSLICE" --from 00:00 --to 23:59 --level WARN "$LOG"
  assert_status 0
  [ "${#lines[@]}" -eq 5 ]
  [ "${lines[0]}" = "10:05:30 WARN slow query" ]
}

@test "count counts entries" {
  run "$LOGSLICE" --from 10:00 --to 10:31 --count "$LOG"
  assert_output 4
}

@test "count of nothing" {
  run "$LOGSLICE" --from 03:00 --to 04:00 --count "$LOG"
  assert_status 1
  assert_output 0
}
