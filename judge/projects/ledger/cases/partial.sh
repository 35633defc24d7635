#!/bin/sh
# label: reject
# kind: partial-fix
# task: Make the failing tests of parse_amount pass: an amount in brackets is negative.
# why: only brackets around an amount without thousands are negative: one of the two failing tests still fails.
# set: sighted
python3 - <<"EOF"
p = "ledger/money.py"
s = open(p).read()
s = s.replace("    sign = 1\n", "    sign = 1\n    if text.startswith(\"(\") and \",\" not in text:\n        sign = -1\n", 1)
open(p, "w").write(s)
EOF
