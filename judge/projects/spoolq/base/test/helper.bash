# Shared by all tests.

setup() {
  export SPOOLQ_DIR=$BATS_TEST_TMPDIR/queue CLOCK=$BATS_TEST_TMPDIR/clock
  PATH=$BATS_TEST_DIRNAME/stubs:$BATS_TEST_DIRNAME/../bin:$PATH
  clock 1000
  spoolq init
}

# clock SECONDS: from now on it is so late.
clock() {
  echo "$1" >"$CLOCK"
}

# put PRIO COMMAND: add a job, quietly.
put() {
  spoolq add "$1" "$2" >/dev/null
}

# conf NAME=VALUE...
conf() {
  printf '%s\n' "$@" >>"$SPOOLQ_DIR/conf"
}

# state ID: where the job is.
state() {
  local file
  for file in "$SPOOLQ_DIR"/{new,work,done,failed}/"$1"; do
    if [ -e "$file" ]; then
      basename "$(dirname "$file")"
      return 0
    fi
  done
  echo nowhere
}

# same WANT GOT
same() {
  if [ "$1" != "$2" ]; then
    printf 'want: %s\ngot:  %s\n' "$1" "$2"
    return 1
  fi
}
