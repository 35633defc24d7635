import pytest

from pyledger import UnbalancedEntry


def test_balance(ledger):
    assert ledger.balance("cash") == 6551
    assert ledger.balance("food") == 3449


def test_balance_until_includes_the_day(ledger):
    assert ledger.balance("cash", until="2024-01-05") == 8750
    assert ledger.balance("cash", until="2024-01-04") == 10000


def test_unbalanced_entry_is_refused(ledger):
    with pytest.raises(UnbalancedEntry, match="off by 1"):
        ledger.post("2024-03-01", "Wrong", cash=1)
    assert len(ledger.entries) == 3


def test_balances(ledger):
    assert ledger.balances() == {"capital": -10000, "cash": 6551, "food": 3449}
