"""A small double-entry ledger. All amounts are whole cents."""

from .ledger import Ledger, UnbalancedEntry
from .money import AmountError, format_amount, parse_amount, split_evenly

__all__ = [
    "AmountError",
    "Ledger",
    "UnbalancedEntry",
    "format_amount",
    "parse_amount",
    "split_evenly",
]
