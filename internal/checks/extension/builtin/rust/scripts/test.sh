#!/bin/sh
# Tests a Rust crate or workspace with cargo test. Arguments go to it.
set -u
if [ ! -f "${HOMEBOY_RUNTIME_RUNNER_KIT:-}" ]; then
  printf '%s\n' 'HOMEBOY_RUNTIME_RUNNER_KIT names no file: run this script through deed' >&2
  exit 2
fi
# shellcheck source=/dev/null
. "$HOMEBOY_RUNTIME_RUNNER_KIT"
kit_start test
# shellcheck source=/dev/null
. "$HOMEBOY_EXTENSION_PATH/scripts/project.sh"
kit_need cargo 'install it from https://rustup.rs'
[ -f Cargo.toml ] || kit_fail 'Cargo.toml is missing' "there is no Cargo.toml in $KIT_ROOT"
if ! should_run_step test; then
  echo 'Not run: test (step filter)'
  exit 0
fi

# Integration tests can be chosen by file; for any other changed file everything runs.
if [ -n "${HOMEBOY_CHANGED_TEST_FILES:-}" ]; then
  printf '%s\n' "$HOMEBOY_CHANGED_TEST_FILES" | kit__relative | grep '\.rs$' >"$KIT_TMP/changed"
  if [ -s "$KIT_TMP/changed" ] && ! grep -qv '^tests/[A-Za-z0-9_-]*\.rs$' "$KIT_TMP/changed"; then
    while IFS= read -r t; do
      t=${t#tests/}
      set -- --test "${t%.rs}" "$@"
    done <"$KIT_TMP/changed"
  fi
fi

members=$(cargo_members "$@")
kit_expect cargo.txt "$KIT_TMP/output"
code=0
if kit_wants_coverage && cargo llvm-cov --version >/dev/null 2>&1; then
  kit_watch "$KIT_TMP/output" cargo llvm-cov --no-fail-fast --lcov --output-path "$KIT_TMP/lcov" ${members:+"$members"} "$@" || code=$?
  kit_coverage "$KIT_TMP/lcov"
else
  ! kit_wants_coverage || kit_without coverage 'cargo-llvm-cov is not installed: cargo install cargo-llvm-cov'
  kit_watch "$KIT_TMP/output" cargo test --no-fail-fast ${members:+"$members"} "$@" || code=$?
fi
# libtest has no report that is stable: the host reads what cargo prints.
! grep -q -e '^running [0-9]' -e '^error: could not compile' "$KIT_TMP/output" || kit_report cargo.txt "$KIT_TMP/output"
[ "$code" -eq 0 ] || cargo_undelivered "$KIT_TMP/output"
kit_test_end 'cargo test' "$code" "$KIT_TMP/output"
