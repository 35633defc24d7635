"""Statements as the bank exports them."""

import json

from .money import parse_amount


def read_statement(path):
    """Return the bookings of an export as pairs of account and cents."""
    with open(path, encoding="utf-8") as f:
        rows = json.load(f)["rows"]
    return [(row["account"], parse_amount(row["amount"])) for row in rows]
