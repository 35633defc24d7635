#!/bin/sh
# label: accept
# kind: feature-with-tests
# task: Add spoolq cancel ID: a job that is new goes to failed at once. For other jobs it is an error. With tests.
# why: a new function, its command, a line of README and a new test file; all that was there is as it was.
# set: blind
cat >> lib/queue.sh <<'B'

# queue_cancel ID: a job that nobody has taken shall not run.
queue_cancel() {
  [ -f "$SPOOLQ_DIR/new/$1" ] || die "not new: $1"
  mv "$SPOOLQ_DIR/new/$1" "$SPOOLQ_DIR/failed/$1"
}
B
sed -i 's/^       spoolq reap$/       spoolq cancel ID\n&/; s/^  reap)$/  cancel)\n    need_queue\n    queue_cancel "${1:?cancel wants an id}"\n    ;;\n&/' bin/spoolq
sed -i 's/^- `spoolq reap` puts back/- `spoolq cancel ID` moves a new job to `failed`.\n&/' README.md
cat > test/cancel.bats <<'B'
#!/usr/bin/env bats
load helper

@test "a cancelled job is not taken" {
  put 9 a
  put 5 b
  spoolq cancel 000001
  same failed "$(state 000001)"
  same 000002 "$(spoolq take)"
}

@test "a job in work cannot be cancelled" {
  put 5 a
  spoolq take
  run spoolq cancel 000001
  same 1 "$status"
  same 'spoolq: not new: 000001' "$output"
  same work "$(state 000001)"
}

@test "cancel wants an id" {
  run spoolq cancel
  [ "$status" -ne 0 ]
}
B
