#!/bin/sh
# Tests a PHP project with PHPUnit. Arguments go to it.
set -u
if [ ! -f "${HOMEBOY_RUNTIME_RUNNER_KIT:-}" ]; then
  printf '%s\n' 'HOMEBOY_RUNTIME_RUNNER_KIT names no file: run this script through deed' >&2
  exit 2
fi
# shellcheck source=/dev/null
. "$HOMEBOY_RUNTIME_RUNNER_KIT"
kit_start test
kit_need php 'install it from https://www.php.net or from your system (php-cli)'
if ! should_run_step test; then
  echo 'Not run: test (step filter)'
  exit 0
fi

phpunit=""
for p in vendor/bin/phpunit phpunit.phar phpunit; do
  if [ -f "$p" ]; then
    phpunit=$p
    break
  fi
done
[ -n "$phpunit" ] || phpunit=$(command -v phpunit) || {
  if [ -f composer.json ] && grep -q '"phpunit/phpunit"' composer.json; then
    kit_missing dependency phpunit/phpunit 'composer install'
    kit_fail 'PHPUnit is missing' 'the dependencies of composer.json are not installed: run composer install'
  fi
  kit_missing tool phpunit 'composer require --dev phpunit/phpunit'
  kit_fail 'PHPUnit is missing' 'there is no vendor/bin/phpunit and none on PATH: composer require --dev phpunit/phpunit'
}

# Without a configuration PHPUnit has to be told where the tests are.
if [ $# -eq 0 ] && [ ! -f phpunit.xml ] && [ ! -f phpunit.xml.dist ] && [ ! -f phpunit.dist.xml ]; then
  if [ ! -d tests ]; then
    echo 'no test files: there is neither a phpunit.xml nor a directory tests' | tee "$KIT_TMP/output"
    kit_test_end PHPUnit 0 "$KIT_TMP/output"
  fi
  set -- tests
fi
set -- "--log-junit=$KIT_TMP/phpunit.xml" "$@"
if kit_wants_coverage; then
  set -- "--coverage-clover=$KIT_TMP/clover.xml" "$@"
fi
code=0
if [ -n "${HOMEBOY_CHANGED_TEST_FILES:-}" ]; then
  # PHPUnit takes one file: a suite of the changed ones is made of them by class.
  printf '%s\n' "$HOMEBOY_CHANGED_TEST_FILES" | kit__relative | grep '\.php$' >"$KIT_TMP/changed"
  if [ ! -s "$KIT_TMP/changed" ]; then
    echo 'No PHP test file is asked for.'
    exit 0
  fi
  classes=$(sed 's,.*/,,; s/\.php$//' "$KIT_TMP/changed" | tr '\n' '|' | sed 's/|$//')
  set -- "--filter=/(^|\\\\)($classes)::/" "$@"
fi
kit_expect phpunit.xml "$KIT_TMP/phpunit.xml"
kit_watch "$KIT_TMP/output" php "$phpunit" "$@" || code=$?
kit_report phpunit.xml "$KIT_TMP/phpunit.xml"
if kit_wants_coverage && [ ! -s "$KIT_TMP/clover.xml" ]; then
  kit_without coverage 'PHPUnit wrote no report of it: install xdebug or pcov'
fi
kit_coverage "$KIT_TMP/clover.xml"
if [ "$code" -ne 0 ] && [ -f composer.json ] && [ ! -f vendor/autoload.php ] && grep -q 'vendor/autoload\.php' "$KIT_TMP/output"; then
  kit_missing dependency vendor/autoload.php 'composer install'
fi
kit_test_end PHPUnit "$code" "$KIT_TMP/output"
