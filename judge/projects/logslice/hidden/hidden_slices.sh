#!/bin/sh
# Slices of a log that is not in the tree.
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
printf '00:00:00 ERROR a\n07:15:00 INFO b\n x\n07:15:59 WARN c\n y\n z\n07:16:00 DEBUG d\n' > "$dir/l"
printf ' old\n07:15:10 ERROR e\n' > "$dir/m"
bad=0
try() {
  want=$1 code=$2
  shift 2
  got=$(bash bin/logslice "$@" 2>/dev/null)
  was=$?
  if [ "$got" != "$want" ] || [ "$was" != "$code" ]; then
    echo "logslice $*: exit $was, printed: $got"
    bad=1
  fi
}
try 3 0 --from 07:00 --to 07:16 --count "$dir/l"
try 2 0 --from 00:00 --to 07:15 --count --level WARN "$dir/l"
try '07:15:59 WARN c
 y
 z' 0 --from 07:15 --to 07:15 --level WARN "$dir/l"
try '07:16:00 DEBUG d' 0 --from 07:16 --to 07:16 --level DEBUG "$dir/l" "$dir/m"
try '' 2 --from 07:61 --to 08:00 "$dir/l"
try 0 1 --from 08:00 --to 09:00 --count "$dir/l"
exit $bad
