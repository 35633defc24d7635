load helper

@test "no file" {
  run "$LOGSLICE" --from 10:00 --to 10:30
  assert_status 2
}

@test "wrong times" {
  for time in 24:00 9:00 10:60 x; do
    run "$LOGSLICE" --from "$time" --to 10:30 "$LOG"
    assert_status 2
  done
}

@test "unknown level" {
  run "$LOGSLICE" --from 10:00 --to 10:30 --level LOUD "$LOG"
  assert_status 2
  [[ $output == usage:* ]]
}
