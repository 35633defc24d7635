#!/bin/sh
# label: accept
# kind: fix
# task: Make the failing tests of parse_amount pass: an amount in brackets is negative.
# why: brackets are read as a minus, whatever is in them; nothing else changed.
# set: sighted
python3 - <<"EOF"
p = "ledger/money.py"
s = open(p).read()
s = s.replace("""    cleaned = text.strip().replace(",", "").strip("()")
    sign = 1
""", """    cleaned = text.strip().replace(",", "")
    sign = 1
    if cleaned.startswith("(") and cleaned.endswith(")"):
        sign, cleaned = -1, cleaned[1:-1]
""")
open(p, "w").write(s)
EOF
