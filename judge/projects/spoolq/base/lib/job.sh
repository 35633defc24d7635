# A job is a file of lines KEY=VALUE; its name is its number.

job_get() { # FILE KEY
  sed -n "s/^$2=//p" "$1"
}

job_set() { # FILE KEY VALUE
  {
    grep -v "^$2=" "$1" || true
    printf '%s=%s\n' "$2" "$3"
  } >"$SPOOLQ_DIR/tmp/${1##*/}"
  mv "$SPOOLQ_DIR/tmp/${1##*/}" "$1"
}

job_number() {
  local n
  n=$(($(cat "$SPOOLQ_DIR/seq") + 1))
  echo "$n" >"$SPOOLQ_DIR/seq"
  printf '%06d\n' "$n"
}

job_write() { # ID PRIO DELAY COMMAND
  local at
  at=$(now)
  cat >"$SPOOLQ_DIR/tmp/$1" <<J
prio=$2
added=$at
due=$((at + $3))
tries=0
cmd=$4
J
  mv "$SPOOLQ_DIR/tmp/$1" "$SPOOLQ_DIR/new/$1"
}
