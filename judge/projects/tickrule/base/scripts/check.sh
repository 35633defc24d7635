#!/bin/sh
# Compiles every source and runs the tests.
set -e
cd "$(dirname "$0")/.."
python3 -m compileall -q src
python3 -m pytest -q
