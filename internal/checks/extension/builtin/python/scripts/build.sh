#!/bin/sh
# Builds a Python project with the build module where it is a package, and compiles it else. Arguments go to build.
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
python_ready
if ! should_run_step build; then
  echo 'Not run: build (step filter)'
  exit 0
fi
code=0
if { configured '^\[build-system\]' pyproject.toml || [ -f setup.py ]; } && has build; then
  kit_watch "$KIT_TMP/output" "$PYTHON" -m build "$@" || code=$?
  kit_build_end 'python -m build' "$code"
fi
kit_without 'python -m build' 'there is no [build-system] or no build module (pip install build): the files are only compiled'
kit__all '*.py' | "$PYTHON" "$HOMEBOY_EXTENSION_PATH/scripts/syntax.py" >"$KIT_TMP/output" || kit_build_end compile 2
cat "$KIT_TMP/output"
[ ! -s "$KIT_TMP/output" ] || code=1
kit_build_end compile "$code"
