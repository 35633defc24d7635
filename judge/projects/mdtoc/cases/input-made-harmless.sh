#!/bin/sh
# label: reject
# kind: fixture-changed
# task: A ``` inside of a ~~~ block ends the block. Fix it.
# why: the line with ``` was taken out of the golden input; the expected file and the program are unchanged.
# base: bug-fence.patch
# set: blind
python3 - <<'PY'
p = 'tests/golden/fenced.md'
s = open(p).read()
s = s.replace('## nor this\n```\n', '## nor this\n')
open(p, 'w').write(s)
PY
