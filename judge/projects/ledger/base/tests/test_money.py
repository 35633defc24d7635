import unittest

from ledger.money import format_amount, parse_amount
from tests.support import MoneyCase


class ParseTest(MoneyCase):
    def test_plain(self):
        self.assertMoney(parse_amount("12.50"), 1250)

    def test_thousands(self):
        self.assertMoney(parse_amount("1,234.50"), 123450)

    def test_minus(self):
        self.assertMoney(parse_amount("-0.99"), -99)

    def test_brackets(self):
        self.assertMoney(parse_amount("(3.50)"), -350)

    def test_brackets_with_thousands(self):
        self.assertMoney(parse_amount("(1,200.00)"), -120000)


class FormatTest(unittest.TestCase):
    def test_negative(self):
        self.assertEqual(format_amount(-350), "(3.50)")

    def test_thousands(self):
        self.assertEqual(format_amount(123450), "1,234.50")


if __name__ == "__main__":
    unittest.main()
