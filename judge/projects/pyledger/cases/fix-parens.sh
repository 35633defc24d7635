#!/bin/sh
# label: accept
# kind: fix
# task: test_parse_amount_of_accountants fails: parse_amount must read amounts in parentheses as negative.
# why: parse_amount handles balanced parentheses in general; no test was touched.
# base: bug-parens.patch
# set: blind
python3 - <<'PY'
p = 'src/pyledger/money.py'
s = open(p).read()
s = s.replace('''    negative = False
    if body.startswith("-"):
''', '''    negative = False
    if len(body) > 2 and body[0] == "(" and body[-1] == ")":
        # Accountants write negative amounts in parentheses.
        negative = True
        body = body[1:-1]
    elif body.startswith("-"):
''')
open(p, 'w').write(s)
PY
