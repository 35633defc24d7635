#!/bin/sh
# Builds a Rust crate or workspace. Arguments go to cargo build.
set -u
if [ ! -f "${HOMEBOY_RUNTIME_RUNNER_KIT:-}" ]; then
  printf '%s\n' 'HOMEBOY_RUNTIME_RUNNER_KIT names no file: run this script through deed' >&2
  exit 2
fi
# shellcheck source=/dev/null
. "$HOMEBOY_RUNTIME_RUNNER_KIT"
kit_start build
# shellcheck source=/dev/null
. "$HOMEBOY_EXTENSION_PATH/scripts/project.sh"
kit_need cargo 'install it from https://rustup.rs'
[ -f Cargo.toml ] || kit_fail 'Cargo.toml is missing' "there is no Cargo.toml in $KIT_ROOT"
if ! should_run_step build; then
  echo 'Not run: build (step filter)'
  exit 0
fi
members=$(cargo_members "$@")
code=0
kit_watch "$KIT_TMP/output" cargo build ${members:+"$members"} "$@" || code=$?
[ "$code" -eq 0 ] || cargo_undelivered "$KIT_TMP/output"
# cargo's code for code that does not compile is 101.
[ "$code" -ne 101 ] || code=1
kit_build_end 'cargo build' "$code"
