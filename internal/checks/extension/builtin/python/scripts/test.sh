#!/bin/sh
# Tests a Python project with pytest, else with unittest. Arguments go to it.
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
python_ready
if ! should_run_step test; then
  echo 'Not run: test (step filter)'
  exit 0
fi

# pytest_only: whether there are tests that unittest does not see.
pytest_only() {
  kit__all 'test_*.py' '*_test.py' '*/test_*.py' '*/*_test.py' '*conftest.py' | tr '\n' '\0' |
    xargs -0 grep -qs -e '^import .*pytest' -e '^from pytest' -e '^\(async \)\{0,1\}def test_' -- /dev/null
}
# for_pytest: whether the tests are written for pytest.
for_pytest() {
  [ ! -f pytest.ini ] && [ ! -f conftest.py ] || return 0
  ! configured '^\[\(tool[.:]\)\{0,1\}pytest' pyproject.toml setup.cfg tox.ini || return 0
  pytest_only
}

# The pytest of the interpreter. Else the program on PATH, which may belong to another one, where nothing else would do.
pytest=""
if has pytest; then
  pytest=module
elif command -v pytest >/dev/null 2>&1 && for_pytest && case $PYTHON in "$KIT_ROOT"/*) false ;; esac; then
  pytest=program
elif pytest_only; then
  kit_missing dependency pytest "the tests are written for it: pip install pytest"
  kit_fail 'pytest is missing' 'the tests are written for pytest, and it is not installed: pip install pytest'
fi
inherited=${PYTHONPATH:-}
python_path

# modules: the changed files as unittest names them.
modules() {
  sed 's/\.py$//; s,/,.,g'
}
if [ -n "${HOMEBOY_CHANGED_TEST_FILES:-}" ]; then
  printf '%s\n' "$HOMEBOY_CHANGED_TEST_FILES" | kit__relative | grep '\.py$' >"$KIT_TMP/changed"
  if [ ! -s "$KIT_TMP/changed" ]; then
    echo 'No Python test file is asked for.'
    exit 0
  fi
  [ -n "$pytest" ] || modules <"$KIT_TMP/changed" >"$KIT_TMP/modules"
  set -f
  IFS='
'
  # shellcheck disable=SC2046 # one file in a line
  if [ -n "$pytest" ]; then set -- "$@" $(cat "$KIT_TMP/changed"); else set -- "$@" $(cat "$KIT_TMP/modules"); fi
  unset IFS
  set +f
fi

code=0
if [ -n "$pytest" ]; then
  name=pytest
  report=$KIT_TMP/pytest.xml
  mkdir "$KIT_TMP/plugin"
  cp -- "$HOMEBOY_EXTENSION_PATH/scripts/begun.py" "$KIT_TMP/plugin/deed_begun.py"
  PYTHONPATH=$KIT_TMP/plugin${PYTHONPATH:+:$PYTHONPATH}
  export PYTHONPATH
  set -- -p deed_begun "--junitxml=$report" "$@"
  if [ "$pytest" = program ]; then
    :
  elif kit_wants_coverage && has pytest_cov; then
    set -- --cov "--cov-report=xml:$KIT_TMP/coverage.xml" "$@"
    set -- -m pytest "$@"
  elif kit_wants_coverage && has coverage; then
    set -- -m coverage run "--data-file=$KIT_TMP/coverage" -m pytest "$@"
  else
    set -- -m pytest "$@"
  fi
else
  name=unittest
  report=$KIT_TMP/unittest.tap
  # Without a name unittest finds its tests, from the directory that has them.
  named=""
  for a in "$@"; do
    case $a in -*) ;; *) named=1 ;; esac
  done
  if [ -z "$named" ]; then
    start=.
    for d in tests test; do
      if [ -d "$d" ] && [ ! -f "$d/__init__.py" ]; then start=$d; fi
    done
    set -- discover -s "$start" "$@"
  fi
  set -- "$HOMEBOY_EXTENSION_PATH/scripts/unittests.py" "$report" "$@"
  if kit_wants_coverage && has coverage; then
    set -- -m coverage run "--data-file=$KIT_TMP/coverage" "$@"
  fi
fi
kit_expect "${report##*/}" "$report"
if [ "$pytest" = program ]; then
  kit_watch "$KIT_TMP/output" pytest "$@" || code=$?
else
  kit_watch "$KIT_TMP/output" "$PYTHON" "$@" || code=$?
fi
if [ -n "$inherited" ]; then PYTHONPATH=$inherited; else unset PYTHONPATH; fi
kit_report "${report##*/}" "$report"
if kit_wants_coverage; then
  if [ -f "$KIT_TMP/coverage" ]; then
    "$PYTHON" -m coverage xml -q "--data-file=$KIT_TMP/coverage" -o "$KIT_TMP/coverage.xml"
  fi
  [ -s "$KIT_TMP/coverage.xml" ] || kit_without coverage 'neither pytest-cov nor coverage is installed: pip install coverage'
  kit_coverage "$KIT_TMP/coverage.xml"
fi
if [ "$code" -ne 0 ]; then
  python_missing "$KIT_TMP/output"
  unknown=$(sed -n 's/.*error: unrecognized arguments: //p; s/.*Missing required plugins: //p' "$KIT_TMP/output" | sed -n 1p)
  [ -z "$unknown" ] || [ -z "$pytest" ] || kit_missing dependency "a plugin of pytest for $unknown" "install the dependencies of the project: $(installs)"
fi
if [ "$code" -ne 0 ] && grep -q 'ModuleNotFoundError: No module named' "$KIT_TMP/output"; then
  echo 'A module is missing: install the dependencies of the project (pip install -r requirements.txt, or pip install -e .).'
fi
kit_test_end "$name" "$code" "$KIT_TMP/output"
