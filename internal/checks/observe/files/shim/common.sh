# shellcheck shell=sh
# What the shims have in common. A shim stands first on PATH in the place of a tool, runs the real one and keeps what it
# reports. It is sourced with the name of the tool as TOOL.

HERE=${0%/*}
ROOT=$HERE/../..

# real: the path of the real tool, which is the next one on PATH.
real() {
  rest=$PATH:
  while [ -n "$rest" ]; do
    entry=${rest%%:*}
    rest=${rest#*:}
    [ "$entry" != "$HERE" ] || continue
    if [ -f "${entry:-.}/$TOOL" ] && [ -x "${entry:-.}/$TOOL" ]; then
      REAL=${entry:-.}/$TOOL
      return
    fi
  done
  printf 'sh: 1: %s: not found\n' "$TOOL" >&2
  exit 127
}

# unobserved ARGUMENT...: becomes the real tool.
unobserved() {
  exec "$REAL" "$@"
}

# begin RUNNER: makes the directory of a report, REPORT.
begin() {
  REPORT=$ROOT/reports/$1.$$
  n=0
  while ! mkdir "$REPORT.$n" 2>/dev/null; do
    n=$((n + 1))
    [ "$n" -lt 100 ] || return 1
  done
  REPORT=$REPORT.$n
  pwd >"$REPORT/cwd"
  mkfifo "$REPORT/pipe" || return 1
  exec 9<&0 # what runs in the background gets no standard input, but by another number
}

# wait_for PID: waits for a child and passes the signals on that come meanwhile. CODE is how it ended.
wait_for() {
  trap 'kill -HUP "$1" 2>/dev/null' HUP
  trap 'kill -TERM "$1" 2>/dev/null' TERM INT
  CODE=0
  wait "$1" || CODE=$?
  while kill -0 "$1" 2>/dev/null; do
    CODE=0
    wait "$1" || CODE=$?
  done
  trap - HUP TERM INT
}

# finish: the report has its end, and the shim ends as the tool did.
finish() {
  rm -f "$REPORT/pipe"
  : >"$REPORT/end"
  exit "$CODE"
}
