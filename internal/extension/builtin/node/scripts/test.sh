#!/bin/sh
# Tests a Node.js project: its test script, else vitest, jest, or node's own test runner. Arguments go to it.
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
node_ready
if ! should_run_step test; then
  echo 'Not run: test (step filter)'
  exit 0
fi

script=$(ask 'p.scripts && p.scripts.test')
case $script in *'no test specified'*) script="" ;; esac
if [ -n "${HOMEBOY_CHANGED_TEST_FILES:-}" ]; then
  printf '%s\n' "$HOMEBOY_CHANGED_TEST_FILES" | kit__relative >"$KIT_TMP/changed"
  set -f
  IFS='
'
  # shellcheck disable=SC2046 # one file in a line
  set -- "$@" $(cat "$KIT_TMP/changed")
  unset IFS
  set +f
fi

# since MAJOR MINOR: whether this node is at least that.
since() {
  node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > +process.argv[1] || (a === +process.argv[1] && b >= +process.argv[2]) ? 0 : 1)' "$1" "$2"
}

# node_options: the reporters of node's test runner. They go by NODE_OPTIONS, because options after the files are not its own.
node_options() {
  report=$KIT_TMP/node.tap
  format=tap
  if since 20 10; then
    report=$KIT_TMP/node.xml
    format=junit
  fi
  options="--test-reporter=spec --test-reporter-destination=stdout --test-reporter=$format --test-reporter-destination=$report"
  if kit_wants_coverage && since 20 11; then
    options="$options --test-reporter=lcov --test-reporter-destination=$KIT_TMP/lcov"
    coverage=$KIT_TMP/lcov
  fi
  NODE_OPTIONS="${NODE_OPTIONS:-} $options"
  export NODE_OPTIONS
}

code=0
report="" coverage="" name=""
case $KIT_TMP in *' '*) kit_fail 'TMPDIR' "TMPDIR has a blank in it, and NODE_OPTIONS cannot carry that: $KIT_TMP" ;; esac
if [ -n "$script" ]; then
  for tool in vitest jest 'node --test'; do
    if alone "$script" "$tool"; then name=$tool; fi
  done
elif [ -n "$(bin vitest)" ]; then
  name=vitest
elif [ -n "$(bin jest)" ]; then
  name=jest
else
  name='node --test'
fi

case $name in
  vitest)
    report=$KIT_TMP/vitest.json
    set -- --run --reporter=default --reporter=json "--outputFile.json=$report" "$@"
    if kit_wants_coverage; then
      set -- --coverage.enabled --coverage.reporter=lcovonly "--coverage.reportsDirectory=$KIT_TMP/coverage" "$@"
      coverage=$KIT_TMP/coverage/lcov.info
    fi
    ;;
  jest)
    report=$KIT_TMP/jest.json
    set -- --json "--outputFile=$report" "$@"
    if kit_wants_coverage; then
      set -- --coverage --coverageReporters=lcovonly "--coverageDirectory=$KIT_TMP/coverage" "$@"
      coverage=$KIT_TMP/coverage/lcov.info
    fi
    ;;
  'node --test') node_options ;;
esac

if [ -n "$script" ]; then
  run_script test "$@" || code=$?
else
  case $name in
    'node --test')
      if kit_wants_coverage && since 20 11; then set -- --experimental-test-coverage "$@"; fi
      kit_watch "$KIT_TMP/output" node --test "$@" || code=$?
      ;;
    *) kit_watch "$KIT_TMP/output" "$KIT_ROOT/$(bin "$name")" "$@" || code=$? ;;
  esac
fi
if kit_wants_coverage && [ ! -s "${coverage:-/dev/null}" ]; then
  kit_without coverage "the runner of this project wrote no report of it"
fi
[ -z "$report" ] || kit_report "${report##*/}" "$report"
[ -z "$coverage" ] || kit_coverage "$coverage"
if [ -z "$report" ] && grep -q -e '^TAP version' -e '^1\.\.[0-9]' "$KIT_TMP/output"; then
  kit_report output.tap "$KIT_TMP/output"
fi
kit_test_end "${name:-$PM test}" "$code" "$KIT_TMP/output"
