#!/bin/sh
# Prune on stores that are not in the tests.
tool=$PWD/snapkeep
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
bad=0
for keep in 1 3 5; do
  rm -rf "$dir/s"
  mkdir "$dir/s"
  for day in 01 02 03 04; do
    : > "$dir/s/x-202305$day.tar"
    : > "$dir/s/x-y-202306$day.tar"
  done
  "$tool" prune "$dir/s" "$keep" > "$dir/out" || bad=1
  want=$keep
  [ "$want" -le 4 ] || want=4
  for name in x-202305 x-y-202306; do
    got=$(find "$dir/s" -name "${name}0*" | wc -l)
    [ "$got" -eq "$want" ] || { echo "keep $keep: $got of $name are left, not $want"; bad=1; }
    [ -e "$dir/s/${name}04.tar" ] || { echo "keep $keep: the newest $name is gone"; bad=1; }
  done
done
mkdir "$dir/src" && echo z > "$dir/src/f"
SNAPKEEP_DATE=20200101 "$tool" save "$dir/src" "$dir/t" > /dev/null && [ -s "$dir/t/src-20200101.tar" ] || bad=1
exit $bad
