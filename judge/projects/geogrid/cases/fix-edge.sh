#!/bin/sh
# label: accept
# kind: fix
# task: Positions at latitude 90 or longitude 180 get letters that do not exist. They belong to the last square.
# why: both far edges are moved just inside before anything is computed.
# base: bug-edge.patch
# set: blind
python3 - <<'PY'
p = 'src/grid.c'
s = open(p).read()
s = s.replace('''  out[0] =''', '''  if (x == 360.0) x = 360.0 - 1e-9;
  if (y == 180.0) y = 180.0 - 1e-9;
  out[0] =''', 1)
open(p, 'w').write(s)
PY
