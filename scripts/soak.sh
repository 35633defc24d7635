#!/usr/bin/env bash
# Looks for rare faults: every fuzz target for SOAK_SECONDS (default 60), then the crash tests SOAK_CRASHES times
# (default 20), the chaos of fanouts with SOAK_CHAOS tasks of each kind (default 10), then SOAK_YEARS simulated years of an
# agent's life (default 3), each with a seed of its own; DEED_YEAR_SEED repeats one that failed. Goes on after a failure, and
# fails at the end. Fuzzing leaves each input that broke something in
# the package's testdata/fuzz, from where every later go test replays it: commit it with the fix.
set -uo pipefail
cd "$(dirname "$0")/.."

seconds=${SOAK_SECONDS:-60}
crashes=${SOAK_CRASHES:-20}
faults=0

# go test -list prints the targets of a package, then a line "ok PACKAGE TIME".
targets=$(go test -list '^Fuzz' ./... | awk '/^Fuzz/ { names[n++] = $1; next } /^ok/ { for (i = 0; i < n; i++) print $2, names[i] } { n = 0 }') || faults=1

while read -r package target; do
  [ -n "$target" ] || continue
  echo "soak: $package $target for ${seconds}s"
  go test -run '^$' -fuzz "^$target\$" -fuzztime "${seconds}s" "$package" || faults=$((faults + 1))
done <<<"$targets"

echo "soak: crash tests $crashes times"
DEED_CHAOS=${SOAK_CHAOS:-10} go test -run Crash -count "$crashes" -timeout 4h ./... || faults=$((faults + 1))

for year in $(seq "${SOAK_YEARS:-3}"); do
  echo "soak: year $year"
  DEED_YEAR_DAYS=365 go test -run '^TestYear$' -count 1 -v -timeout 2h ./internal/engine/dispatch || faults=$((faults + 1))
done

echo "soak: $faults faults"
[ "$faults" = 0 ]
