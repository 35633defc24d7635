#!/bin/sh
# Compare what csvalign prints with expected/.
cd "$(dirname "$0")" || exit 1
rm -rf actual
mkdir actual
for file in cases/*.csv; do
  name=$(basename "$file" .csv)
  ./csvalign "$file" > "actual/$name.txt" 2>&1
done
if diff -ru expected actual; then
  echo "all $(ls expected | wc -l) outputs are as expected"
else
  echo "outputs differ" >&2
  exit 1
fi
