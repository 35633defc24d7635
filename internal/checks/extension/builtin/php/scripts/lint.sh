#!/bin/sh
# Lints a PHP project: php -l, and phpcs and phpstan where the project has and configures them.
set -u
if [ ! -f "${HOMEBOY_RUNTIME_RUNNER_KIT:-}" ]; then
  printf '%s\n' 'HOMEBOY_RUNTIME_RUNNER_KIT names no file: run this script through deed' >&2
  exit 2
fi
# shellcheck source=/dev/null
. "$HOMEBOY_RUNTIME_RUNNER_KIT"
kit_start lint
kit_need php 'install it from https://www.php.net or from your system (php-cli)'

kit_files '*.php' >"$KIT_TMP/all"
grep -v -e '^vendor/' -e '/vendor/' "$KIT_TMP/all" >"$KIT_TMP/scope"
if [ ! -s "$KIT_TMP/scope" ]; then
  echo 'There are no PHP files here.'
  kit_lint_end
fi

phpcs_configured() {
  for f in .phpcs.xml phpcs.xml .phpcs.xml.dist phpcs.xml.dist; do
    [ ! -f "$f" ] || return 0
  done
  return 1
}

if kit_fixing; then
  if phpcs_configured && [ -x vendor/bin/phpcbf ] && should_run_step phpcs; then
    kit_sums <"$KIT_TMP/scope" >"$KIT_TMP/before"
    kit_each php vendor/bin/phpcbf -q <"$KIT_TMP/scope" || kit_debug 'phpcbf: its code says that it fixed something'
    kit_sums <"$KIT_TMP/scope" >"$KIT_TMP/after"
    kit_fixed phpcs guarded "$KIT_TMP/before" "$KIT_TMP/after"
  else
    echo 'There is no fixer: phpcs is not configured, or phpcbf is not installed.'
  fi
  kit_lint_end
fi

if should_run_step syntax; then
  tr '\n' '\0' <"$KIT_TMP/scope" | xargs -0 -n 1 -P 4 php -d display_errors=0 -d log_errors=1 -d error_log= -l >"$KIT_TMP/lint" 2>&1
  # PHP Parse error:  syntax error, unexpected ... in src/a.php on line 3
  sed -E -n 's/^.*(Parse|Fatal) error: *(.*) in (.*) on line ([0-9]*)$/\3:\4: \2/p' "$KIT_TMP/lint" >"$KIT_TMP/syntax"
  kit_findings syntax text "$KIT_TMP/syntax" 0 --rule syntax --category correctness
fi
if phpcs_configured; then
  if [ ! -f vendor/bin/phpcs ]; then
    kit_unlinted phpcs 'the project configures it and it is not in vendor/bin: composer install'
  elif should_run_step phpcs; then
    code=0
    kit_each php vendor/bin/phpcs -q --report=json <"$KIT_TMP/scope" >"$KIT_TMP/phpcs" 2>"$KIT_TMP/errors" || code=$?
    kit_findings phpcs phpcs "$KIT_TMP/phpcs" "$code"
  fi
fi
if [ -f phpstan.neon ] || [ -f phpstan.neon.dist ] || [ -f phpstan.dist.neon ]; then
  if [ ! -f vendor/bin/phpstan ]; then
    kit_unlinted phpstan 'the project configures it and it is not in vendor/bin: composer install'
  elif should_run_step phpstan; then
    code=0
    kit_untold php vendor/bin/phpstan analyse --no-progress --error-format=json >"$KIT_TMP/phpstan" 2>"$KIT_TMP/errors" || code=$?
    [ -s "$KIT_TMP/phpstan" ] || cat "$KIT_TMP/errors"
    kit_findings phpstan phpstan "$KIT_TMP/phpstan" "$code" --category types
  fi
fi
kit_lint_end
