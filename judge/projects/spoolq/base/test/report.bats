#!/usr/bin/env bats
load helper

setup_file() {
  # shellcheck source=/dev/null
  . "$BATS_TEST_DIRNAME/../lib/report.sh"
  export -f age_text
}

@test "ages" {
  [ "$(age_text 0)" = 0s ]
  [ "$(age_text 59)" = 59s ]
  [ "$(age_text 61)" = 1m ]
  [ "$(age_text 7300)" = 2h ]
  [ "$(age_text 200000)" = 2d ]
}

@test "ages at the limits" {
  [ "$(age_text 60)" = 1m ]
  [ "$(age_text 3600)" = 1h ]
  [ "$(age_text 86400)" = 1d ]
}

@test "the list of the nightly jobs" {
  spoolq import "$BATS_TEST_DIRNAME/fixtures/nightly.jobs"
  clock 1130
  spoolq list >"$BATS_TEST_TMPDIR/list"
  diff -u "$BATS_TEST_DIRNAME/fixtures/nightly.list" "$BATS_TEST_TMPDIR/list"
}

@test "the list of an unknown state" {
  run spoolq list old
  [ "$status" -eq 1 ]
  [ "$output" = 'spoolq: no such state: old' ]
}

@test "stats count every state" {
  put 1 a
  put 1 b
  spoolq take
  [ "$(spoolq stats)" = 'new 1 work 1 done 0 failed 0' ]
  spoolq done 000001
  [ "$(spoolq stats)" = 'new 1 work 0 done 1 failed 0' ]
}
