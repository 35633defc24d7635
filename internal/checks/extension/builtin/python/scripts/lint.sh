#!/bin/sh
# Lints a Python project: the syntax, and ruff, flake8 and mypy where they are there. mypy runs where it is configured.
set -u
if [ ! -f "${HOMEBOY_RUNTIME_RUNNER_KIT:-}" ]; then
  printf '%s\n' 'HOMEBOY_RUNTIME_RUNNER_KIT names no file: run this script through deed' >&2
  exit 2
fi
# shellcheck source=/dev/null
. "$HOMEBOY_RUNTIME_RUNNER_KIT"
kit_start lint
# shellcheck source=/dev/null
. "$HOMEBOY_EXTENSION_PATH/scripts/project.sh"
python_ready
PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE

kit_files '*.py' >"$KIT_TMP/scope"
if [ ! -s "$KIT_TMP/scope" ]; then
  echo 'There are no Python files here.'
  kit_lint_end
fi

# tool NAME ARGUMENT...: a tool of the project's environment, else of PATH.
tool() {
  name=$1
  shift
  if has "$name"; then
    kit_each "$PYTHON" -m "$name" "$@" <"$KIT_TMP/scope"
  else
    kit_each "$name" "$@" <"$KIT_TMP/scope"
  fi
}
there() {
  has "$1" || command -v "$1" >/dev/null 2>&1
}

if kit_fixing; then
  if ! there ruff; then
    kit_without ruff 'it is not installed: pip install ruff'
  elif should_run_step ruff; then
    kit_sums <"$KIT_TMP/scope" >"$KIT_TMP/before"
    tool ruff check --fix --quiet || kit_debug 'ruff: what is left is told by the next lint'
    kit_sums <"$KIT_TMP/scope" >"$KIT_TMP/after"
    kit_fixed ruff guarded "$KIT_TMP/before" "$KIT_TMP/after"
  fi
  kit_lint_end
fi

if should_run_step syntax; then
  code=0
  "$PYTHON" "$HOMEBOY_EXTENSION_PATH/scripts/syntax.py" <"$KIT_TMP/scope" >"$KIT_TMP/syntax" || code=$?
  kit_findings syntax text "$KIT_TMP/syntax" "$code" --rule syntax --category correctness
fi
if ! there ruff; then
  if [ -f ruff.toml ] || [ -f .ruff.toml ] || configured '^\[tool\.ruff' pyproject.toml; then
    kit_unlinted ruff 'the project configures it and it is not installed: pip install ruff'
  else
    kit_without ruff 'it is not installed: pip install ruff'
  fi
elif should_run_step ruff; then
  code=0
  tool ruff check --output-format json --force-exclude >"$KIT_TMP/ruff" 2>"$KIT_TMP/errors" || code=$?
  [ "$code" -le 1 ] || cat "$KIT_TMP/errors"
  kit_findings ruff ruff "$KIT_TMP/ruff" "$code"
fi
if configured '^\[flake8\]' .flake8 setup.cfg tox.ini; then
  if ! there flake8; then
    kit_unlinted flake8 'the project configures it and it is not installed: pip install flake8'
  elif should_run_step flake8; then
    code=0
    tool flake8 >"$KIT_TMP/flake8" 2>"$KIT_TMP/errors" || code=$?
    cat "$KIT_TMP/errors"
    kit_findings flake8 text "$KIT_TMP/flake8" "$code"
  fi
fi
if [ -f mypy.ini ] || [ -f .mypy.ini ] || configured '^\[\(tool\.\)\{0,1\}mypy\]' pyproject.toml setup.cfg; then
  if ! there mypy; then
    kit_unlinted mypy 'the project configures it and it is not installed: pip install mypy'
  elif should_run_step mypy; then
    code=0
    tool mypy --no-error-summary --show-column-numbers --no-color-output >"$KIT_TMP/mypy" 2>"$KIT_TMP/errors" || code=$?
    [ "$code" -le 1 ] || cat "$KIT_TMP/errors"
    kit_findings mypy text "$KIT_TMP/mypy" "$code" --category types
  fi
fi
kit_lint_end
