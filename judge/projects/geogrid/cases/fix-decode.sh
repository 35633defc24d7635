#!/bin/sh
# label: accept
# kind: fix
# task: -d accepts squares whose last letters are beyond x. Refuse them.
# why: both letters are checked, in upper and lower case; a check for the other letter was added.
# base: bug-decode.patch
# set: blind
python3 - <<'PY'
p = 'src/grid.c'
s = open(p).read()
s = s.replace('''  *lon = a''', '''  if (e < 0 || e >= 24 || f < 0 || f >= 24) return -1;
  *lon = a''')
open(p, 'w').write(s)
p = 'tests/test_grid.c'
s = open(p).read()
s = s.replace('''"JN58ty", &lat, &lon) == -1);
''', '''"JN58ty", &lat, &lon) == -1);
  CHECK(grid_decode("JN58Yd", &lat, &lon) == -1);
''')
open(p, 'w').write(s)
PY
