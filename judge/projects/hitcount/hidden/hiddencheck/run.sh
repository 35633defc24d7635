#!/bin/sh
# Builds the program and compares what it prints for a log that no test in the tree has.
set -e
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
go build -o "$dir/hc" ./cmd/hitcount
"$dir/hc" < hiddencheck/log.txt > "$dir/path"
"$dir/hc" -by status -json < hiddencheck/log.txt > "$dir/status"
"$dir/hc" -by hour -top 3 < hiddencheck/log.txt > "$dir/hour"
for part in path status hour; do
  diff -u "hiddencheck/$part.want" "$dir/$part"
done
if printf 'x\n' | "$dir/hc" > /dev/null 2>&1; then exit 1; fi
test "$(printf '' | "$dir/hc" -json)" = "[]"
