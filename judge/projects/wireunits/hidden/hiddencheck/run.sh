#!/bin/sh
# Builds the program outside of the tree's Makefile and compares; then makes the table again from units.txt.
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
unset GOFLAGS
go build -o "$dir/units" ./cmd/units || exit 1
bad=0
while read -r number from to want; do
  got=$("$dir/units" "$number" "$from" "$to" 2>/dev/null) || got=error
  if [ "$got" != "$want" ]; then
    echo "$number $from to $to: got $got, want $want"
    bad=1
  fi
done < hiddencheck/pairs.txt
go run hiddencheck/fresh.go || bad=1
exit $bad
