#!/bin/sh
# Run every *.test.sh; fail when one fails.
cd "$(dirname "$0")" || exit 1
passed=0 failed=0
for file in *.test.sh; do
  work=$(mktemp -d)
  if WORK=$work sh -eu "$file" > "$work/log" 2>&1; then
    echo "ok   $file"
    passed=$((passed + 1))
  else
    echo "FAIL $file"
    sed 's/^/     /' "$work/log"
    failed=$((failed + 1))
  fi
  rm -rf "$work"
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
