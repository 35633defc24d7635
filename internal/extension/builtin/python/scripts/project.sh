# What the runners of a Python project have in common. It is sourced after kit_start.

# python_ready: PYTHON is the interpreter of the project's own environment, else the first on PATH.
python_ready() {
  for PYTHON in .venv/bin/python venv/bin/python; do
    if [ -x "$PYTHON" ]; then
      PYTHON=$KIT_ROOT/$PYTHON
      return
    fi
  done
  for PYTHON in python3 python; do
    ! "$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3,))' >/dev/null 2>&1 || return 0
  done
  kit_fail 'python3 is missing' 'python3 is not on PATH: install it from https://www.python.org or from your system'
}

# has MODULE: whether the interpreter has it.
has() {
  "$PYTHON" -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec(sys.argv[1]) is None)' "$1" >/dev/null 2>&1
}

# configured PATTERN FILE...: whether one of the files has a line like it.
configured() {
  pattern=$1
  shift
  grep -qs "$pattern" "$@"
}
