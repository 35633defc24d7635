load helper

@test "both ends are included" {
  run "$LOGSLICE" --from 10:00 --to 10:30 "$LOG"
  assert_status 0
  [ "${lines[0]}" = "10:00:00 DEBUG cache warm" ]
  [ "${#lines[@]}" -eq 6 ]
}

@test "following lines belong to their entry" {
  run "$LOGSLICE" --from 10:30 --to 10:30 "$LOG"
  assert_output "10:30:59 ERROR lost connection
  at db.connect
  at main"
}

@test "nothing in range" {
  run "$LOGSLICE" --from 11:00 --to 12:00 "$LOG"
  assert_status 1
  assert_output ""
}

@test "a second file starts afresh" {
  printf '  tail of a rotated entry\n10:01:00 INFO b\n' > "$BATS_TEST_TMPDIR/b.log"
  run "$LOGSLICE" --from 10:00 --to 23:59 "$LOG" "$BATS_TEST_TMPDIR/b.log"
  assert_status 0
  [[ $output != *rotated* ]]
}
