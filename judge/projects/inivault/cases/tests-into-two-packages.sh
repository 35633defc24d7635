#!/bin/sh
# label: accept
# kind: test-moved
# task: Split tests/ into tests/unit (mask, expand) and tests/files (document); the command must stay `python3 -m unittest`.
# why: the same tests run from new places; only imports changed.
# set: blind
mkdir tests/unit tests/files
touch tests/unit/__init__.py tests/files/__init__.py
git mv tests/test_mask.py tests/test_expand.py tests/unit/
git mv tests/test_document.py tests/files/
sed -i 's/from \.support/from ..support/' tests/unit/*.py tests/files/*.py
