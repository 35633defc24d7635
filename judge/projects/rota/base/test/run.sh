#!/bin/sh
# Runs every test and says which failed.
here=$(cd "$(dirname "$0")" && pwd)
failed=
for t in "$here"/*.test.sh; do
  sh "$t" || failed="$failed ${t##*/}"
done
if [ -n "$failed" ]; then
  echo "failed:$failed"
  exit 1
fi
echo 'all tests passed'
