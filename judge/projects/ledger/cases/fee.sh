#!/bin/sh
# label: accept
# kind: fix
# task: Each rent is charged with a fee of 100.00 that the export does not have: make the failing test of the statement pass.
# why: the fee is added where statements are read, for rent only.
# base: fee.patch
# forms: shell capability steps
# set: sighted
sed -i 's/^    return \[(row/    fee = {"rent": -10000}\n    return [(row/; s/parse_amount(row\["amount"\]))/parse_amount(row["amount"]) + fee.get(row["account"], 0))/' ledger/statement.py
