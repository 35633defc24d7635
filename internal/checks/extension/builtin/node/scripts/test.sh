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

# since MAJOR MINOR: whether this node is at least that.
since() {
  node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > +process.argv[1] || (a === +process.argv[1] && b >= +process.argv[2]) ? 0 : 1)' "$1" "$2"
}

# node_options: the reporters of node's test runner. They go by NODE_OPTIONS, because options after the files are not its own.
node_options() {
  report=$KIT_TMP/node$suffix.tap
  format=tap
  if since 20 10; then
    report=$KIT_TMP/node$suffix.xml
    format=$KIT_TMP/reporter.mjs
    cp -- "$HOMEBOY_EXTENSION_PATH/scripts/reporter.mjs" "$format"
  fi
  options="--test-reporter=$format --test-reporter-destination=$report"
  case $script in
    *--test-reporter[=\ ]*--test-reporter-destination* | *--test-reporter-destination*--test-reporter[=\ ]*) options="--test-reporter=spec --test-reporter-destination=stdout $options" ;;
    *--test-reporter[=\ ]*) options="$options --test-reporter-destination=stdout" ;; # the script's own reporter, which has no destination
    *) options="--test-reporter=spec --test-reporter-destination=stdout $options" ;;
  esac
  if kit_wants_coverage && since 20 11; then
    options="$options --test-reporter=lcov --test-reporter-destination=$KIT_TMP/lcov"
    coverage=$KIT_TMP/lcov
  fi
  NODE_OPTIONS="$inherited $options"
  export NODE_OPTIONS
}

# test_script: the test script of the package in the working directory; empty where it has none.
test_script() {
  script=$(ask 'p.scripts && p.scripts.test')
  case $script in *'no test specified'*) script="" ;; esac
}

# runner: the name of the runner that the test script is a call of, or of the one that is installed where there is no script.
runner() {
  name=""
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
}

# cut_short: node tells a file whose program ended before it told of its tests as one test that passed. Such a file has tests.
cut_short() {
  sed -n 's/.*<testcase name="\(\/[^"]*\)"[^>]*\/>.*/\1/p' "$report" | while IFS= read -r file; do
    if [ -f "$file" ] && grep -q 'node:test' "$file" && grep -Eq '(^|[;[:space:]])(await )?(t|test|it|describe|suite)[.(]' "$file"; then
      printf 'begin %s\n' "${file#"$KIT_ROOT"/}" >>"$KIT_TMP/begun"
    fi
  done
}

# test_package SUFFIX ARGUMENT...: runs the tests of the package in the working directory. Its status is that of the runner.
test_package() {
  suffix=$1
  shift
  report="" coverage="" one=0
  test_script
  runner
  case $name in
    vitest)
      report=$KIT_TMP/vitest$suffix.json
      set -- --run --reporter=default --reporter=json "--outputFile.json=$report" "$@"
      if kit_wants_coverage; then
        set -- --coverage.enabled --coverage.reporter=lcovonly "--coverage.reportsDirectory=$KIT_TMP/coverage" "$@"
        coverage=$KIT_TMP/coverage/lcov.info
      fi
      ;;
    jest)
      report=$KIT_TMP/jest$suffix.json
      set -- --json "--outputFile=$report" "$@"
      if kit_wants_coverage; then
        set -- --coverage --coverageReporters=lcovonly "--coverageDirectory=$KIT_TMP/coverage" "$@"
        coverage=$KIT_TMP/coverage/lcov.info
      fi
      ;;
    'node --test') node_options ;;
  esac
  [ -z "$report" ] || kit_expect "${report##*/}" "$report"
  if [ -n "$script" ]; then
    run_script test "$@" || one=$?
  else
    case $name in
      'node --test')
        if kit_wants_coverage && since 20 11; then set -- --experimental-test-coverage "$@"; fi
        kit_watch "$KIT_TMP/output" node --test "$@" || one=$?
        ;;
      *) kit_watch "$KIT_TMP/output" "$(bin "$name")" "$@" || one=$? ;;
    esac
  fi
  NODE_OPTIONS=$inherited
  [ "$one" -eq 0 ] || node_missing "$KIT_TMP/output"
  if kit_wants_coverage && [ ! -s "${coverage:-/dev/null}" ]; then
    kit_without coverage "the runner of this project wrote no report of it"
  fi
  case $report in *.xml) [ ! -f "$report" ] || cut_short ;; esac
  [ -z "$report" ] || kit_report "${report##*/}" "$report"
  [ -z "$coverage" ] || kit_coverage "$coverage"
  if [ -z "$report" ] && grep -q -e '^TAP version' -e '^1\.\.[0-9]' "$KIT_TMP/output"; then
    kit_report "output$suffix.tap" "$KIT_TMP/output"
  fi
  cat "$KIT_TMP/output" >>"$KIT_TMP/all"
  return "$one"
}

# asked DIR: of the test files that are asked for those of a member, below it; of the root those that no member has.
asked() {
  while IFS= read -r file; do
    case $1 in
      .) in_member "$file" || printf '%s\n' "$file" ;;
      *) case $file in "$1"/*) printf '%s\n' "${file#"$1"/}" ;; esac ;;
    esac
  done <"$KIT_TMP/changed"
}
in_member() {
  while IFS= read -r member; do
    case $1 in "$member"/*) return 0 ;; esac
  done <"$KIT_TMP/own"
  return 1
}

# test_in DIR SUFFIX ARGUMENT...: test_package there, for what is asked for. A failure stays in `code`.
test_in() {
  dir=$1 suffix=$2
  shift 2
  if [ -f "$KIT_TMP/changed" ]; then
    asked "$dir" >"$KIT_TMP/asked"
    [ -s "$KIT_TMP/asked" ] || return 0
    set -f
    IFS='
'
    # shellcheck disable=SC2046 # one file in a line
    set -- "$@" $(cat "$KIT_TMP/asked")
    unset IFS
    set +f
  fi
  [ "$dir" = . ] || printf '# %s\n' "$dir"
  cd "$dir" || exit 2
  test_package "$suffix" "$@" || code=$?
  cd "$KIT_ROOT" || exit 2
  names=${names:+$names, }${name:-$PM test}
  ran=1
}

# own_members: the members whose tests the root does not run, one in a line.
own_members() {
  while IFS='	' read -r dir how; do
    [ "$how" = own ] || continue
    [ -n "$(cd "$dir" && test_script && printf '%s' "$script")" ] || continue
    printf '%s\n' "$dir"
  done <"$KIT_TMP/members"
}

code=0 names="" ran="" inherited=${NODE_OPTIONS:-}
case $KIT_TMP in *' '*) kit_fail 'TMPDIR' "TMPDIR has a blank in it, and NODE_OPTIONS cannot carry that: $KIT_TMP" ;; esac
: >"$KIT_TMP/all"
own_members >"$KIT_TMP/own"
if [ -n "${HOMEBOY_CHANGED_TEST_FILES:-}" ]; then
  printf '%s\n' "$HOMEBOY_CHANGED_TEST_FILES" | kit__relative >"$KIT_TMP/changed"
fi
test_script
# A root without a script of its own has nothing to say where its members have.
if [ -n "$script" ] || [ ! -s "$KIT_TMP/own" ]; then
  test_in . '' "$@"
fi
n=0
while IFS= read -r member <&3; do
  n=$((n + 1))
  # Jest and Vitest name the files that they ran: the root's may have run the member's.
  if [ -n "$ran" ] && cat "$KIT_TMP"/jest.json "$KIT_TMP"/vitest.json 2>/dev/null | grep -qF "$KIT_ROOT/$member/"; then continue; fi
  test_in "$member" "-$n" "$@"
done 3<"$KIT_TMP/own"
kit_test_end "${names:-node}" "$code" "$KIT_TMP/all"
