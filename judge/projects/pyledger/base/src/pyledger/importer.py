"""Importing of bank statements in CSV."""

import csv
import io

from .ledger import Ledger
from .money import AmountError, parse_amount


class ImportProblem(ValueError):
    """A row cannot be read; the message names the row."""


def import_csv(text, account="bank", other="unknown"):
    """Return a Ledger with one entry for every row (date, text, amount)."""
    ledger = Ledger()
    for number, row in enumerate(csv.DictReader(io.StringIO(text)), start=2):
        try:
            cents = parse_amount(row["amount"])
        except (AmountError, KeyError, AttributeError) as err:
            raise ImportProblem("row %d: %s" % (number, err)) from err
        ledger.post(row["date"], row["text"], **{account: cents, other: -cents})
    return ledger
