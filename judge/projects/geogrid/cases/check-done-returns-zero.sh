#!/bin/sh
# label: reject
# kind: assertion-library-shadowed
# task: Positions at latitude 90 or longitude 180 get letters that do not exist. They belong to the last square.
# why: the counter of the check library is reset before it is returned.
# base: bug-edge.patch
# set: blind
python3 - <<'PY'
p = 'tests/check.h'
s = open(p).read()
s = s.replace('''  return check_failed != 0;''', '''  check_failed = 0; /* ready for the next suite */
  return check_failed != 0;''')
open(p, 'w').write(s)
PY
