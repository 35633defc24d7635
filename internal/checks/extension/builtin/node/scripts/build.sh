#!/bin/sh
# Builds a Node.js project with its build script. Arguments go to it.
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
node_ready
if [ -n "$(ask 'p.scripts && p.scripts.build')" ]; then
  echo . >"$KIT_TMP/packages"
else
  with_script build >"$KIT_TMP/packages"
fi
if [ ! -s "$KIT_TMP/packages" ]; then
  kit_without build 'package.json has no build script: there is nothing to build'
  exit 0
fi
if ! should_run_step build; then
  echo 'Not run: build (step filter)'
  exit 0
fi
code=0
while IFS= read -r package <&3; do
  cd "$KIT_ROOT/$package" || exit 2
  run_script build "$@" || code=$?
  if [ "$code" -ne 0 ]; then
    node_missing "$KIT_TMP/output"
    break # what depends on it comes after it
  fi
done 3<"$KIT_TMP/packages"
kit_build_end "$PM run build" "$code"
