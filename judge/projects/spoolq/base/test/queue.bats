#!/usr/bin/env bats
load helper

@test "add prints the number of the job" {
  run spoolq add 5 'echo a'
  same 0 "$status"
  same 000001 "$output"
  run spoolq add 5 'echo b'
  same 000002 "$output"
}

@test "a priority is a number" {
  run spoolq add high 'echo a'
  same 1 "$status"
  same 'spoolq: not a priority: high' "$output"
}

@test "the oldest of a priority is first" {
  put 5 a
  put 5 b
  put 5 c
  same 000001 "$(spoolq take)"
  same 000002 "$(spoolq take)"
  same 000003 "$(spoolq take)"
}

@test "ten goes before nine" {
  put 9 nine
  put 10 ten
  put 2 two
  same 000002 "$(spoolq take)"
  same 000001 "$(spoolq take)"
  same 000003 "$(spoolq take)"
}

@test "take says when there is nothing" {
  run spoolq take
  same 1 "$status"
  same 'spoolq: nothing to do' "$output"
}

@test "a delayed job waits" {
  spoolq import "$BATS_TEST_DIRNAME/fixtures/nightly.jobs"
  same 000004 "$(spoolq take)"
  same 000002 "$(spoolq take)"
  same 000001 "$(spoolq take)"
  clock 1030
  same 000003 "$(spoolq take)"
}

@test "a command keeps its blanks and equal signs" {
  put 5 "env A=1  B='x  y' true"
  same "env A=1  B='x  y' true" "$(sed -n 's/^cmd=//p' "$SPOOLQ_DIR/new/000001")"
}
