import time
import unittest

from ledger.report import summary
from ledger.statement import read_statement
from tests.support import FIXTURES, MoneyCase


class StatementTest(MoneyCase):
    def test_sums(self):
        sums = summary(read_statement(FIXTURES / "march.json"))
        self.assertEqual(sorted(sums), ["food", "rent"])
        self.assertMoney(sums["rent"], -80000)
        self.assertMoney(sums["food"], -4175)

    def test_many_rows_are_fast(self):
        begin = time.monotonic()
        for _ in range(20):
            read_statement(FIXTURES / "march.json")
            time.sleep(0.03)
        self.assertLess(time.monotonic() - begin, 30)


if __name__ == "__main__":
    unittest.main()
