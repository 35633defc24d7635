#!/bin/sh
# label: reject
# kind: nothing-done
# task: Tasks are sorted as text (10 before 2). Sort by number.
# why: the sort was moved to a function of its own and does what it did.
# base: bug-order.patch
# set: blind
python3 - <<'PY'
p = 'web/render.js'
s = open(p).read()
s = s.replace('''column.sort((a, b) => (String(a.id) < String(b.id) ? -1 : 1));''', '''column.sort(byNumber);''')
s = s.replace('''function byState''', '''// Compare tasks by their number.
function byNumber(a, b) {
  return `${a.id}` < `${b.id}` ? -1 : 1;
}

function byState''')
open(p, 'w').write(s)
PY
