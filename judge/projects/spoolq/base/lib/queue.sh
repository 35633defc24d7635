# How jobs move from new to work, and from there to done, to failed or back.

queue_init() {
  mkdir -p "$SPOOLQ_DIR"/{new,work,done,failed,log,tmp}
  [ -f "$SPOOLQ_DIR/seq" ] || echo 0 >"$SPOOLQ_DIR/seq"
}

queue_add() { # PRIO DELAY COMMAND
  local id
  case $1 in
    '' | *[!0-9]*) die "not a priority: $1" ;;
  esac
  [ -n "$3" ] || die "an empty command"
  id=$(job_number)
  job_write "$id" "$1" "$2" "$3"
  echo "$id"
}

queue_import() { # FILE
  local prio delay command
  while read -r prio delay command || [ -n "$prio" ]; do
    case $prio in
      '' | '#'*) continue ;;
    esac
    queue_add "$prio" "$delay" "$command"
  done <"$1"
}

# queue_order STATE: the jobs, the highest priority first, then the oldest.
queue_order() {
  local file
  for file in "$SPOOLQ_DIR/$1"/*; do
    [ -e "$file" ] || continue
    printf '%s %s\n' "$(job_get "$file" prio)" "${file##*/}"
  done | sort -k1,1nr -k2,2n | cut -d' ' -f2
}

queue_take() {
  local id at
  at=$(now)
  for id in $(queue_order new); do
    [ "$(job_get "$SPOOLQ_DIR/new/$id" due)" -le "$at" ] || continue
    # Another worker may have been quicker.
    mv "$SPOOLQ_DIR/new/$id" "$SPOOLQ_DIR/work/$id" 2>/dev/null || continue
    job_set "$SPOOLQ_DIR/work/$id" since "$at"
    echo "$id"
    return 0
  done
  return 1
}

in_work() {
  [ -f "$SPOOLQ_DIR/work/$1" ] || die "not in work: $1"
}

queue_done() { # ID
  in_work "$1"
  mv "$SPOOLQ_DIR/work/$1" "$SPOOLQ_DIR/done/$1"
}

# queue_fail ID: once more after backoff seconds, twice that, four times that, ...
queue_fail() {
  local file=$SPOOLQ_DIR/work/$1 tries delay
  in_work "$1"
  tries=$(($(job_get "$file" tries) + 1))
  job_set "$file" tries "$tries"
  if [ "$tries" -ge "$(setting max_tries 5)" ]; then
    mv "$file" "$SPOOLQ_DIR/failed/$1"
    return
  fi
  delay=$(($(setting backoff 10) * (1 << (tries - 1))))
  job_set "$file" due "$(($(now) + delay))"
  mv "$file" "$SPOOLQ_DIR/new/$1"
}

# queue_reap: jobs of workers that went away are new again.
queue_reap() {
  local file lease at
  lease=$(setting lease 600)
  at=$(now)
  for file in "$SPOOLQ_DIR/work"/*; do
    [ -e "$file" ] || continue
    if [ $(($(job_get "$file" since) + lease)) -le "$at" ]; then
      mv "$file" "$SPOOLQ_DIR/new/${file##*/}"
      echo "${file##*/}"
    fi
  done
}
