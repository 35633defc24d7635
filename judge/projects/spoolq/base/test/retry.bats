#!/usr/bin/env bats
load helper

# fails_at SECONDS ID: the job is due just then, and fails again.
fails_at() {
  clock $(($1 - 1))
  run spoolq take
  [ "$status" -eq 1 ]
  clock "$1"
  run spoolq take
  [ "$output" = "$2" ]
  spoolq fail "$2"
}

@test "the second try is after backoff seconds" {
  put 5 a
  spoolq take
  spoolq fail 000001
  fails_at 1010 000001
}

@test "the delay doubles" {
  put 5 a
  spoolq take
  spoolq fail 000001
  fails_at 1010 000001
  fails_at 1030 000001
  fails_at 1070 000001
}

@test "backoff and max_tries are settings" {
  conf backoff=3 max_tries=2
  put 5 a
  spoolq take
  spoolq fail 000001
  [ "$(state 000001)" = new ]
  fails_at 1003 000001
  [ "$(state 000001)" = failed ]
}

@test "five tries are enough" {
  conf backoff=0
  put 5 a
  for _ in 1 2 3 4 5; do
    spoolq take
    spoolq fail 000001
  done
  [ "$(state 000001)" = failed ]
}

@test "only a job in work can fail" {
  put 5 a
  run spoolq fail 000001
  [ "$status" -eq 1 ]
  [ "$output" = 'spoolq: not in work: 000001' ]
}

@test "reap puts back what was taken long ago" {
  put 5 a
  put 5 b
  spoolq take
  clock 1300
  spoolq take
  clock 1600
  run spoolq reap
  [ "$output" = 000001 ]
  [ "$(state 000001)" = new ]
  [ "$(state 000002)" = work ]
}

@test "the lease is a setting" {
  conf lease=20
  put 5 a
  spoolq take
  clock 1020
  run spoolq reap
  [ "$output" = 000001 ]
}
