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
# alone: whether shell is the only language here. Next to another, not every *_test.sh is a test that runs by itself.
alone() {
  for f in go.mod go.work package.json Cargo.toml composer.json pyproject.toml setup.py setup.cfg requirements.txt tox.ini pytest.ini; do
    [ ! -f "$f" ] || return 1
  done
}
# vendored: leaves out the tests of bats itself and of its libraries, which projects keep in their tree.
vendored() {
  while IFS= read -r file; do
    case /$file in */node_modules/* | */vendor/* | */bats-core/* | */bats-support/* | */bats-assert/* | */bats-file/* | */bats-mock/*) continue ;; esac
    case /$file in */bats/*) [ ! -d "${file%%bats/*}bats/libexec" ] || continue ;; esac
    printf '%s\n' "$file"
  done
}
tests '*.bats' | vendored >"$KIT_TMP/bats"
if alone; then tests '*.test.sh' '*_test.sh'; else tests '*.test.sh'; fi >"$KIT_TMP/scripts"
if [ ! -s "$KIT_TMP/bats" ] && [ ! -s "$KIT_TMP/scripts" ]; then
  if ! alone; then
    kit_without bats 'there are no shell tests but those of libraries'
    exit 0
  fi
  echo 'no test files: neither *.bats nor *.test.sh' | tee "$KIT_TMP/output"
  kit_test_end 'shell tests' 0 "$KIT_TMP/output"
fi
code=0
: >"$KIT_TMP/output"

if [ -s "$KIT_TMP/bats" ] && should_run_step bats; then
  bats=bats
  for b in node_modules/.bin/bats test/bats/bin/bats test/libs/bats/bin/bats test/bats-core/bin/bats tests/bats/bin/bats; do
    if [ -x "$b" ]; then
      bats=$KIT_ROOT/$b
      break
    fi
  done
  kit_need "$bats" 'install it from https://bats-core.readthedocs.io'
  kit_expect bats.tap "$KIT_TMP/bats.tap"
  set -f
  IFS='
'
  # shellcheck disable=SC2046 # one file in a line
  kit_watch "$KIT_TMP/bats.tap" "$bats" --tap "$@" $(cat "$KIT_TMP/bats") || code=$?
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
  kit_expect scripts.tap "$KIT_TMP/scripts.tap"
  while IFS= read -r file; do
    n=$((n + 1))
    one=0
    printf '# %s\n' "$file"
    printf 'begin %s\n' "$file" >>"$KIT_TMP/begun.live"
    script "$file" >"$KIT_TMP/one" 2>&1 </dev/null || one=$?
    printf 'end %s\n' "$file" >>"$KIT_TMP/begun.live"
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
