#!/bin/sh
# Both parts answer the questions of every shared file; they must say the same.
set -eu
cd "$(dirname "$0")/.."
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

bad=0
for file in shared/*.json; do
  name=$(basename "$file" .json)
  (cd python && "${PYTHON:-python3}" -m flagpair.service eval "../$file") >"$out/$name.python"
  "${NODE:-node}" node/src/cli.js "$file" >"$out/$name.node"
  if diff -u "$out/$name.python" "$out/$name.node"; then
    echo "same: $name, $(grep -c . "$out/$name.node") answers"
  else
    echo "different: $name" >&2
    bad=1
  fi
done
exit "$bad"
