#!/bin/sh
# Questions that are not in the tree, for the service, the library and both commands.
cd "$(dirname "$0")/.." || exit 1
PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE
bad=0
python3 -I acceptance/check.py || bad=1
node acceptance/check.mjs || bad=1
exit "$bad"
