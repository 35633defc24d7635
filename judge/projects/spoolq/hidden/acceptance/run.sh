#!/bin/bash
# Runs the queue by itself, without bats, under a clock of its own.
set -u
top=$(cd "$(dirname "$0")/.." && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/bin"
cat >"$tmp/bin/date" <<'D'
#!/bin/sh
case $1 in
  +%s) cat "$ACCEPTANCE_CLOCK" ;;
  *) exec /bin/date "$@" ;;
esac
D
chmod +x "$tmp/bin/date"
export ACCEPTANCE_CLOCK=$tmp/now PATH=$tmp/bin:$PATH
bad=0

clock() { echo "$1" >"$ACCEPTANCE_CLOCK"; }
fresh() {
  export SPOOLQ_DIR=$tmp/queues/$1
  mkdir -p "$tmp/queues"
  clock 50000
  q init
}
q() { "$top/bin/spoolq" "$@"; }
want() { # WHAT WANT GOT
  if [ "$2" != "$3" ]; then
    printf '%s: want %q got %q\n' "$1" "$2" "$3"
    bad=1
  fi
}

fresh order
for prio in 3 20 100 3 0 20 1000 99; do q add "$prio" "echo $prio" >/dev/null; done
got=
for _ in 1 2 3 4 5 6 7 8; do got="$got $(q take)"; done
want "order" " 000007 000003 000008 000002 000006 000001 000004 000005" "$got"
want "an empty queue" 1 "$(q take 2>/dev/null; echo $?)"

fresh list
for prio in 7 30 200 7; do q add "$prio" "echo $prio" >/dev/null; done
want "the order of the list" "000003 000002 000001 000004 " "$(q list | cut -d' ' -f1 | tr '\n' ' ')"

fresh retry
printf 'backoff=7\nmax_tries=8\n' >"$SPOOLQ_DIR/conf"
q add 1 'true' >/dev/null
t=50000
delay=7
for try in 1 2 3 4 5 6 7; do
  want "try $try" 000001 "$(q take 2>/dev/null)"
  q fail 000001
  clock $((t + delay - 1))
  want "too early after failure $try" "" "$(q take 2>/dev/null)"
  t=$((t + delay))
  clock "$t"
  delay=$((delay * 2))
done
q take >/dev/null
q fail 000001
want "after the last failure" yes "$([ -e "$SPOOLQ_DIR/failed/000001" ] && echo yes)"

fresh worker
printf 'limit=0.2\n' >"$SPOOLQ_DIR/conf"
q add 9 'exit 0' >/dev/null
q add 8 'false' >/dev/null
q add 7 'kill -9 $$' >/dev/null
q add 6 'sleep 3' >/dev/null
q add 5 'echo fine' >/dev/null
q work >/dev/null 2>&1
want "what was done" "000001 000005 " "$(ls "$SPOOLQ_DIR/done" | tr '\n' ' ')"
want "what is tried again" "000002 000003 000004 " "$(ls "$SPOOLQ_DIR/new" | tr '\n' ' ')"

for pair in 0:0s 1:1s 59:59s 60:1m 119:1m 120:2m 3599:59m 3600:1h 7199:1h 86399:23h 86400:1d 172800:2d; do
  fresh "age-${pair%%:*}"
  q add 1 'true' >/dev/null
  clock $((50000 + ${pair%%:*}))
  want "age $pair" "${pair##*:}" "$(q list | awk '{print $3}')"
done

exit "$bad"
