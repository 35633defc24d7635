#!/bin/sh
# label: accept
# kind: fix
# task: 10-40/15 gives 15 and 30; by the README it is 10, 25 and 40. Fix the steps.
# why: the steps begin at the first value again; no test was touched.
# base: step.patch
# set: blind
python3 - <<'PY'
p = 'src/tickrule/rule.py'
s = open(p).read()
s = s.replace('if value % size == 0]', 'if (value - low) % size == 0]')
open(p, 'w').write(s)
PY
