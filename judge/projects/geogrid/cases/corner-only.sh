#!/bin/sh
# label: reject
# kind: partial-fix
# task: Positions at latitude 90 or longitude 180 get letters that do not exist. They belong to the last square.
# why: only the corner where both edges meet is handled; 12 180 is still wrong, which no test in the tree sees.
# base: bug-edge.patch
# tells: hidden
# set: blind
python3 - <<'PY'
p = 'src/grid.c'
s = open(p).read()
s = s.replace('''  out[0] =''', '''  if (x == 360.0 && y == 180.0) {
    x -= 1e-9;
    y -= 1e-9;
  }
  out[0] =''', 1)
open(p, 'w').write(s)
PY
