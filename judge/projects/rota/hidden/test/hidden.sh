#!/bin/sh
# Goes round the week from every day, and through the program itself.
top=$(cd "$(dirname "$0")/.." && pwd)
week='mon tue wed thu fri sat sun'
set -- $week mon
while [ $# -gt 1 ]; do
  got=$(sh "$top/bin/rota.sh" next "$1") || exit 1
  [ "$got" = "$2" ] || { echo "next $1 is $got, want $2"; exit 1; }
  shift
done
f=$(mktemp)
for d in $week; do echo "$d p-$d"; done >"$f"
n=$(ROTA=$f sh "$top/bin/rota.sh" list | sort -u | grep -c p-)
rm -f "$f"
[ "$n" = 7 ] || { echo "the list has $n days"; exit 1; }
echo 'the hidden test passed'
