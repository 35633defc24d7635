"""Sums by account."""

from collections import defaultdict


def summary(bookings):
    """Return the sum of each account, by name."""
    sums = defaultdict(int)
    for account, cents in bookings:
        sums[account] += cents
    return dict(sorted(sums.items()))
