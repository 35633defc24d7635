"""What the tests share."""

import pathlib
import unittest

from ledger.money import format_amount

FIXTURES = pathlib.Path(__file__).parent / "fixtures"


class MoneyCase(unittest.TestCase):
    def assertMoney(self, got, want):
        if got != want:
            self.fail(f"{format_amount(got)} is not {format_amount(want)}")
