#!/bin/sh
# label: reject
# kind: wrong-fix
# task: Doubled quotes inside of a quoted cell get lost, and commas in quotes must stay. Fix the first, keep the second.
# why: only a doubled quote in the middle of a cell works; a cell that begins or ends with one is torn, as the file in the tree does not show.
# base: bug-quotes.patch
# tells: hidden
# set: blind
python3 - <<'PY'
p = 'csvalign.awk'
s = open(p).read()
s = s.replace('''      if (c != "\\"") {
        cell = cell c
''', '''      if (substr(line, i, 2) == "\\"\\"" && cell != "") {
        cell = cell "\\""
        i++
      } else if (c != "\\"") {
        cell = cell c
''')
open(p, 'w').write(s)
PY
