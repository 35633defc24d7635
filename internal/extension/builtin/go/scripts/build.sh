#!/bin/sh
# Builds every package of a Go module. Arguments go to go build.
set -u
if [ ! -f "${HOMEBOY_RUNTIME_RUNNER_KIT:-}" ]; then
  printf '%s\n' 'HOMEBOY_RUNTIME_RUNNER_KIT names no file: run this script through deed' >&2
  exit 2
fi
# shellcheck source=/dev/null
. "$HOMEBOY_RUNTIME_RUNNER_KIT"
kit_start build
kit_need go 'install it from https://go.dev/dl'
if ! should_run_step build; then
  echo 'Not run: build (step filter)'
  exit 0
fi
[ $# -gt 0 ] || set -- ./...
code=0
kit_watch "$KIT_TMP/output" go build "$@" || code=$?
kit_build_end 'go build' "$code"
