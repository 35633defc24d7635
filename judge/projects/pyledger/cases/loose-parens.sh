#!/bin/sh
# label: reject
# kind: wrong-fix
# task: parse_amount must read amounts in parentheses as negative, and still refuse what is not an amount.
# why: every parenthesis anywhere makes the amount negative, so "(5" and "5)" are accepted.
# base: bug-parens.patch
# tells: hidden
# set: blind
python3 - <<'PY'
p = 'src/pyledger/money.py'
s = open(p).read()
s = s.replace('''    if body.startswith("-"):''', '''    if "(" in body or ")" in body:
        negative = True
        body = body.replace("(", "").replace(")", "")
    elif body.startswith("-"):''')
open(p, 'w').write(s)
PY
