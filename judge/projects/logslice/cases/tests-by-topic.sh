#!/bin/sh
# label: accept
# kind: test-moved
# task: range.bats should hold tests of ranges only: move "nothing in range" to a new file empty.bats together with "count of nothing".
# why: both tests moved as they were; the number of tests is the same.
# set: blind
python3 - <<'PY'
import re
moved = []
for path, name in (('tests/range.bats', 'nothing in range'), ('tests/level.bats', 'count of nothing')):
    text = open(path).read()
    block = re.search(r'\n@test "%s" \{\n.*?\n\}\n' % name, text, re.S).group(0)
    moved.append(block)
    open(path, 'w').write(text.replace(block, ''))
open('tests/empty.bats', 'w').write('load helper\n' + ''.join(moved))
PY
