#!/bin/sh
# label: accept
# kind: renamed-function-with-tests
# task: Rename parseAmount to toCents and formatAmount to fromCents everywhere, tests and README included. No aliases.
# why: Every definition, use and test is renamed; the assertions stay as they were.
# forms: shell capability
# set: blind
for f in src/*.js test/*.js README.md; do
  sed -i 's/parseAmount/toCents/g; s/formatAmount/fromCents/g' "$f"
done
