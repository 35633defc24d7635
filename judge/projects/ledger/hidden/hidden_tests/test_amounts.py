import unittest

from ledger.money import format_amount, parse_amount


class AmountsTest(unittest.TestCase):
    def test_brackets(self):
        for text, cents in [("(7.25)", -725), (" (12,000.10) ", -1200010), ("(0.01)", -1), ("42", 4200)]:
            with self.subTest(text=text):
                self.assertEqual(parse_amount(text), cents)

    def test_there_and_back(self):
        for cents in (-987654, -1, 0, 5, 100000):
            with self.subTest(cents=cents):
                self.assertEqual(parse_amount(format_amount(cents)), cents)


if __name__ == "__main__":
    unittest.main()
