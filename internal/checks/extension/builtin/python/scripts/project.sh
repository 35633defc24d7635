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

# python_path: makes PYTHONPATH what it is for an installed project: src and its like are on it.
python_path() {
  "$PYTHON" "$HOMEBOY_EXTENSION_PATH/scripts/project.py" path >"$KIT_TMP/path"
  roots=$(tr '\n' ':' <"$KIT_TMP/path" | sed 's/:$//')
  if [ -n "$roots" ]; then
    PYTHONPATH=$roots${PYTHONPATH:+:$PYTHONPATH}
    export PYTHONPATH
  fi
}

# installs: how the dependencies of the project are installed.
installs() {
  if [ -f uv.lock ]; then
    echo 'uv sync'
  elif [ -f poetry.lock ]; then
    echo 'poetry install'
  elif [ -f requirements.txt ]; then
    echo 'pip install -r requirements.txt'
  else
    echo 'pip install -e .'
  fi
}

# python_missing FILE: says which modules are missing by the output in FILE and belong to dependencies of the project.
python_missing() {
  sed -n "s/.*ModuleNotFoundError: No module named '\([A-Za-z0-9_.]*\)'.*/\1/p" "$1" | sort -u >"$KIT_TMP/absent"
  if [ -s "$KIT_TMP/absent" ]; then
    "$PYTHON" "$HOMEBOY_EXTENSION_PATH/scripts/project.py" missing <"$KIT_TMP/absent" >"$KIT_TMP/missing"
    while IFS= read -r module; do
      kit_missing dependency "$module" "install the dependencies of the project: $(installs)"
    done <"$KIT_TMP/missing"
  fi
  sed -n 's/.*PackageNotFoundError: \(No package metadata was found for \)\{0,1\}\([A-Za-z0-9._-]*\)$/\2/p' "$1" | sort -u >"$KIT_TMP/absent"
  while IFS= read -r package; do
    kit_missing dependency "$package" "install the project and its dependencies: $(installs)"
  done <"$KIT_TMP/absent"
}
