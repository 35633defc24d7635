# Things that every part needs.

SPOOLQ_DIR=${SPOOLQ_DIR:-$HOME/.spoolq}

die() {
  printf 'spoolq: %s\n' "$*" >&2
  exit 1
}

now() {
  date +%s
}

# setting NAME DEFAULT: a line NAME=VALUE of the file conf in the queue.
setting() {
  local value=
  if [ -f "$SPOOLQ_DIR/conf" ]; then
    value=$(sed -n "s/^$1=//p" "$SPOOLQ_DIR/conf" | tail -n 1)
  fi
  printf '%s\n' "${value:-$2}"
}

need_queue() {
  [ -d "$SPOOLQ_DIR/new" ] || die "no queue in $SPOOLQ_DIR, try spoolq init"
}
