#!/bin/sh
# Builds a PHP project with the build script of composer.json. Arguments go to it.
set -u
if [ ! -f "${HOMEBOY_RUNTIME_RUNNER_KIT:-}" ]; then
  printf '%s\n' 'HOMEBOY_RUNTIME_RUNNER_KIT names no file: run this script through deed' >&2
  exit 2
fi
# shellcheck source=/dev/null
. "$HOMEBOY_RUNTIME_RUNNER_KIT"
kit_start build
kit_need php 'install it from https://www.php.net or from your system (php-cli)'
# The script is asked for by php, because composer.json is JSON.
if [ ! -f composer.json ] || ! php -r 'exit(isset(json_decode(file_get_contents("composer.json"), true)["scripts"]["build"]) ? 0 : 1);'; then
  kit_without build 'composer.json has no build script: there is nothing to build'
  exit 0
fi
if ! should_run_step build; then
  echo 'Not run: build (step filter)'
  exit 0
fi
kit_need composer 'install it from https://getcomposer.org'
code=0
kit_watch "$KIT_TMP/output" composer run-script build -- "$@" || code=$?
kit_build_end 'composer run-script build' "$code"
