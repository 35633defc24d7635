#!/bin/sh
# Run the checks the way the build machine does.
set -eu
cd "$(dirname "$0")/.."
mkdir -p build
exec "${PYTHON:-python3}" -B ci/check.py --report build/report.json "$@"
