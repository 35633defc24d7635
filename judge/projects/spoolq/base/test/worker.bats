#!/usr/bin/env bats
load helper

@test "work runs all that is due" {
  put 1 "echo one >>'$BATS_TEST_TMPDIR/out'"
  put 2 "echo two >>'$BATS_TEST_TMPDIR/out'"
  run spoolq work
  same 0 "$status"
  same $'000002 ok\n000001 ok' "$output"
  same $'two\none' "$(cat "$BATS_TEST_TMPDIR/out")"
}

@test "the output of a job is kept" {
  put 1 'echo out; echo err >&2'
  spoolq work
  same $'out\nerr' "$(cat "$SPOOLQ_DIR/log/000001")"
}

@test "a job that fails is tried again" {
  put 1 'exit 3'
  run spoolq work
  same '000001 failed (3)' "$output"
  same new "$(state 000001)"
  clock 1010
  run spoolq work
  same '000001 failed (3)' "$output"
}

@test "a job that runs too long has failed" {
  conf limit=0.3
  put 1 'sleep 5'
  run spoolq work
  same '000001 failed (124)' "$output"
  same new "$(state 000001)"
}
