#!/bin/sh
# label: accept
# kind: fix
# task: Doubled quotes inside of a quoted cell get lost. Fix it.
# why: "" inside of quotes gives one quote, for every cell; cases/ and expected/ are untouched.
# base: bug-quotes.patch
# set: blind
python3 - <<'PY'
p = 'csvalign.awk'
s = open(p).read()
s = s.replace('''      if (c != "\\"") {
        cell = cell c
''', '''      if (substr(line, i, 2) == "\\"\\"") {
        cell = cell "\\""
        i++
      } else if (c != "\\"") {
        cell = cell c
''')
open(p, 'w').write(s)
PY
