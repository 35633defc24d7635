#!/bin/sh
# label: accept
# kind: snapshot-updated-rightly
# task: Our style guide wants * as the bullet. Change it, and the golden files and tests with it.
# why: the task asks for this output; every golden line differs by its bullet only.
# set: blind
sed -i 's/^BULLET = "-"/BULLET = "*"/' mdtoc/toc.py
python3 tests/refresh.py >/dev/null
sed -i 's/"- \[One\](#one)\\n- \[Three\](#three)\\n"/"* [One](#one)\\n* [Three](#three)\\n"/' tests/test_golden.py
rm -rf mdtoc/__pycache__
