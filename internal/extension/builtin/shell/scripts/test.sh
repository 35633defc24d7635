#!/bin/sh
# Tests shell scripts: bats files with bats, and each *.test.sh and *_test.sh by itself: 0 passes, 77 skips, all else fails.
set -u
if [ ! -f "${HOMEBOY_RUNTIME_RUNNER_KIT:-}" ]; then
  printf '%s\n' 'HOMEBOY_RUNTIME_RUNNER_KIT names no file: run this script through deed' >&2
  exit 2
fi
# shellcheck source=/dev/null
. "$HOMEBOY_RUNTIME_RUNNER_KIT"
kit_start test

changed() {
  printf '%s\n' "$HOMEBOY_CHANGED_TEST_FILES" | kit__relative | kit__matching "$@"
}
# tests GLOB...: the test files that are asked for, else all.
tests() {
  if [ -n "${HOMEBOY_CHANGED_TEST_FILES:-}" ]; then changed "$@"; else kit__all "$@"; fi
}
tests '*.bats' >"$KIT_TMP/bats"
tests '*.test.sh' '*_test.sh' >"$KIT_TMP/scripts"
if [ ! -s "$KIT_TMP/bats" ] && [ ! -s "$KIT_TMP/scripts" ]; then
  echo 'no test files: neither *.bats nor *.test.sh' | tee "$KIT_TMP/output"
  kit_test_end 'shell tests' 0 "$KIT_TMP/output"
fi
code=0
: >"$KIT_TMP/output"

if [ -s "$KIT_TMP/bats" ] && should_run_step bats; then
  kit_need bats 'install it from https://bats-core.readthedocs.io'
  set -f
  IFS='
'
  # shellcheck disable=SC2046 # one file in a line
  kit_watch "$KIT_TMP/bats.tap" bats --tap "$@" $(cat "$KIT_TMP/bats") || code=$?
  unset IFS
  set +f
  cat "$KIT_TMP/bats.tap" >>"$KIT_TMP/output"
  kit_report bats.tap "$KIT_TMP/bats.tap"
fi

# script FILE: runs it by its first line where it can be, else with sh.
script() {
  if [ -x "$1" ]; then kit_untold "./$1"; else kit_untold sh "./$1"; fi
}
if [ -s "$KIT_TMP/scripts" ] && should_run_step scripts; then
  n=0
  : >"$KIT_TMP/scripts.tap"
  while IFS= read -r file; do
    n=$((n + 1))
    one=0
    printf '# %s\n' "$file"
    script "$file" >"$KIT_TMP/one" 2>&1 </dev/null || one=$?
    cat "$KIT_TMP/one"
    case $one in
      0) line="ok $n - $file" ;;
      77) line="ok $n - $file # SKIP" ;;
      *)
        line="not ok $n - $file"
        [ "$code" -ne 0 ] || code=1
        ;;
    esac
    printf '%s\n' "$line" | tee -a "$KIT_TMP/scripts.tap" "$KIT_TMP/output"
    if [ "$one" -ne 0 ] && [ "$one" -ne 77 ]; then
      {
        printf '  ---\n  message: |\n    exit %s\n' "$one"
        tail -n 20 "$KIT_TMP/one" | sed 's/^/    /'
        printf '  ...\n'
      } >>"$KIT_TMP/scripts.tap"
    fi
  done <"$KIT_TMP/scripts"
  printf '1..%s\n' "$n" >>"$KIT_TMP/scripts.tap"
  kit_report scripts.tap "$KIT_TMP/scripts.tap"
fi
[ -s "$KIT_TMP/output" ] || exit 0
kit_test_end 'shell tests' "$code" "$KIT_TMP/output"
