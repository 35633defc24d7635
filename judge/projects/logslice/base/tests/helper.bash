# What all tests share.

setup() {
  LOGSLICE="$BATS_TEST_DIRNAME/../bin/logslice"
  LOG="$BATS_TEST_DIRNAME/data/app.log"
}

assert_status() {
  if [ "$status" -ne "$1" ]; then
    echo "exit code $status, not $1; output: $output" >&2
    return 1
  fi
}

assert_output() {
  if [ "$output" != "$1" ]; then
    printf 'want: %s\ngot:  %s\n' "$1" "$output" >&2
    return 1
  fi
}
