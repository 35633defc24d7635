#!/bin/sh
# Tests a Go module with `go test -json`; arguments go to go test. Only the packages of HOMEBOY_CHANGED_TEST_FILES, where set.
set -u
if [ ! -f "${HOMEBOY_RUNTIME_RUNNER_KIT:-}" ]; then
  printf '%s\n' 'HOMEBOY_RUNTIME_RUNNER_KIT names no file: run this script through deed' >&2
  exit 2
fi
# shellcheck source=/dev/null
. "$HOMEBOY_RUNTIME_RUNNER_KIT"
kit_start test
# shellcheck source=/dev/null
. "$HOMEBOY_EXTENSION_PATH/scripts/project.sh"
kit_need go 'install it from https://go.dev/dl'
if ! should_run_step test; then
  echo 'Not run: test (step filter)'
  exit 0
fi

if [ -n "${HOMEBOY_CHANGED_TEST_FILES:-}" ]; then
  printf '%s\n' "$HOMEBOY_CHANGED_TEST_FILES" | kit__relative | grep '\.go$' | sed 's,^,./,; s,/[^/]*$,,' | sort -u >"$KIT_TMP/packages"
  if [ ! -s "$KIT_TMP/packages" ]; then
    echo 'No Go test file is asked for.'
    exit 0
  fi
else
  go_packages >"$KIT_TMP/packages"
fi
if kit_wants_coverage; then
  set -- "-coverprofile=$KIT_TMP/cover" "$@"
fi

# run ARGUMENT...: go test, with the packages where no argument names any.
run() {
  for a in "$@"; do
    case $a in
      ./* | ... | .)
        kit_untold go test -json "$@"
        return
        ;;
    esac
  done
  set -f
  IFS='
'
  # shellcheck disable=SC2046 # one package in a line
  set -- "$@" $(cat "$KIT_TMP/packages")
  kit_untold go test -json "$@"
}

kit_expect go-test.jsonl "$KIT_TMP/go-test.jsonl"
printf 125 >"$KIT_TMP/status"
{
  if run "$@" 2>&1; then printf 0 >"$KIT_TMP/status"; else printf '%s' "$?" >"$KIT_TMP/status"; fi
} | tee "$KIT_TMP/go-test.jsonl" | LC_ALL=C awk -f "$HOMEBOY_EXTENSION_PATH/scripts/show.awk" | tee "$KIT_TMP/output"
grep '^{' "$KIT_TMP/go-test.jsonl" >"$KIT_TMP/report.jsonl"
kit_report go-test.jsonl "$KIT_TMP/report.jsonl"
kit_coverage "$KIT_TMP/cover"
kit_test_end 'go test' "$(cat "$KIT_TMP/status")" "$KIT_TMP/output"
