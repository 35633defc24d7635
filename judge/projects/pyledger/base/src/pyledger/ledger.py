"""Entries and balances."""

from collections import defaultdict


class UnbalancedEntry(ValueError):
    """The lines of an entry do not add up to zero."""


class Ledger:
    def __init__(self):
        self.entries = []

    def post(self, date, text, **lines):
        """Add one entry; lines are account=cents and must add up to zero."""
        total = sum(lines.values())
        if total != 0:
            raise UnbalancedEntry("%s: off by %d" % (text, total))
        self.entries.append((date, text, dict(lines)))

    def balance(self, account, until=None):
        """Return the balance of account, up to and including the date until."""
        total = 0
        for date, _, lines in self.entries:
            if until is None or date <= until:
                total += lines.get(account, 0)
        return total

    def balances(self):
        sums = defaultdict(int)
        for _, _, lines in self.entries:
            for account, cents in lines.items():
                sums[account] += cents
        return {name: cents for name, cents in sorted(sums.items()) if cents}
