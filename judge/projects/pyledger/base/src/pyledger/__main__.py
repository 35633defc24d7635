"""Command line: pyledger statement.csv prints the balances."""

import sys

from .importer import import_csv
from .money import format_amount


def main(argv=None):
    argv = sys.argv[1:] if argv is None else argv
    if len(argv) != 1:
        print("usage: pyledger statement.csv", file=sys.stderr)
        return 2
    with open(argv[0], encoding="utf-8") as source:
        ledger = import_csv(source.read())
    for account, cents in ledger.balances().items():
        print("%-12s %12s" % (account, format_amount(cents)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
