#!/bin/sh
# Lints a Rust crate or workspace: cargo fmt and clippy, or cargo check where clippy is not installed.
set -u
if [ ! -f "${HOMEBOY_RUNTIME_RUNNER_KIT:-}" ]; then
  printf '%s\n' 'HOMEBOY_RUNTIME_RUNNER_KIT names no file: run this script through deed' >&2
  exit 2
fi
# shellcheck source=/dev/null
. "$HOMEBOY_RUNTIME_RUNNER_KIT"
kit_start lint
# shellcheck source=/dev/null
. "$HOMEBOY_EXTENSION_PATH/scripts/project.sh"
kit_need cargo 'install it from https://rustup.rs'
[ -f Cargo.toml ] || kit_fail 'Cargo.toml is missing' "there is no Cargo.toml in $KIT_ROOT"

kit_files '*.rs' >"$KIT_TMP/scope"
if kit_scoped && [ ! -s "$KIT_TMP/scope" ]; then
  echo 'No Rust file is asked for.'
  kit_lint_end
fi

fixer() {
  kit_sums <"$KIT_TMP/scope" >"$KIT_TMP/before"
  rule=$1 confidence=$2
  shift 2
  kit_untold "$@" || kit_broken "$rule"
  kit_sums <"$KIT_TMP/scope" >"$KIT_TMP/after"
  kit_fixed "$rule" "$confidence" "$KIT_TMP/before" "$KIT_TMP/after"
}
fmt=1 clippy=1
cargo fmt --version >/dev/null 2>&1 || fmt=""
cargo clippy --version >/dev/null 2>&1 || clippy=""
members=$(cargo_members "$@")

fmt_configured() {
  [ -f rustfmt.toml ] || [ -f .rustfmt.toml ]
}
clippy_configured() {
  [ -f clippy.toml ] || [ -f .clippy.toml ] || grep -q '^[[:space:]]*\[\(workspace\.\)\{0,1\}lints\.clippy\]' Cargo.toml
}

if kit_fixing; then
  if [ -n "$fmt" ] && should_run_step fmt; then fixer fmt safe cargo fmt --all; fi
  if [ -n "$clippy" ] && should_run_step clippy; then
    fixer clippy guarded cargo clippy --fix --all-targets --allow-dirty --allow-staged --allow-no-vcs ${members:+"$members"} "$@"
  fi
  kit_lint_end
fi

if [ -z "$fmt" ] && fmt_configured; then
  kit_unlinted fmt 'the project configures rustfmt and it is not installed: rustup component add rustfmt'
elif [ -z "$fmt" ]; then
  kit_without fmt 'rustfmt is not installed: rustup component add rustfmt'
elif should_run_step fmt; then
  code=0
  cargo fmt --all -- --check -l >"$KIT_TMP/fmt" 2>"$KIT_TMP/errors" || code=$?
  if [ "$code" -ne 0 ] && [ ! -s "$KIT_TMP/fmt" ]; then cat "$KIT_TMP/errors"; fi
  kit_findings fmt paths "$KIT_TMP/fmt" "$code" --rule format --category format --message 'the file is not formatted by rustfmt' --fixable
fi
if [ -z "$clippy" ] && clippy_configured; then
  kit_unlinted clippy 'the project configures it and it is not installed: rustup component add clippy'
elif should_run_step clippy; then
  command=clippy
  if [ -z "$clippy" ]; then
    kit_without clippy 'it is not installed, cargo check runs instead: rustup component add clippy'
    command=check
  fi
  code=0
  kit_untold cargo "$command" --all-targets --message-format json ${members:+"$members"} "$@" >"$KIT_TMP/clippy" 2>"$KIT_TMP/errors" || code=$?
  if [ "$code" -ne 0 ]; then
    grep '^error' "$KIT_TMP/errors"
    cargo_undelivered "$KIT_TMP/errors"
  fi
  kit_findings "$command" clippy "$KIT_TMP/clippy" "$code"
fi
kit_lint_end
