#!/bin/sh
# label: reject
# kind: wrong-fix
# task: Items that are exactly at the reorder point are not ordered. Fix it; orders must stay in whole boxes below the maximum.
# why: the condition is right, but boxes are rounded up when free stock is zero or one, above the maximum; no test in the tree sees it.
# base: bug-point.patch
# tells: hidden
# set: blind
python3 - <<'PY'
p = 'shop/reorder.py'
s = open(p).read()
s = s.replace('''    if free >= point:
        return 0
''', '''    if free > point:
        return 0
    if free <= 1:
        # Almost sold out: better too much than too little.
        return -(-(maximum - free) // box)
''')
open(p, 'w').write(s)
PY
