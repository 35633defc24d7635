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
# shellcheck source=/dev/null
. "$HOMEBOY_EXTENSION_PATH/scripts/project.sh"
kit_need go 'install it from https://go.dev/dl'
if ! should_run_step build; then
  echo 'Not run: build (step filter)'
  exit 0
fi
if [ $# -eq 0 ]; then
  go_packages >"$KIT_TMP/packages"
  set -f
  IFS='
'
  # shellcheck disable=SC2046 # one pattern in a line
  set -- $(cat "$KIT_TMP/packages")
  unset IFS
  set +f
fi
code=0
kit_watch "$KIT_TMP/output" go build "$@" || code=$?
[ "$code" -eq 0 ] || go_undelivered "$KIT_TMP/output" || :
kit_build_end 'go build' "$code"
