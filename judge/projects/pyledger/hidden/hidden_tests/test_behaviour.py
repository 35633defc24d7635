import random

import pytest

from pyledger import AmountError, Ledger, parse_amount, split_evenly
from pyledger.importer import import_csv


@pytest.mark.parametrize("text, cents", [("(0.07)", -7), ("(12,345.60)", -1234560), ("$(4)", -400), ("19.99", 1999)])
def test_amounts(text, cents):
    got = parse_amount(text)
    assert type(got) is int
    assert repr(got) == repr(cents)


@pytest.mark.parametrize("text", ["(5", "5)", "(-)", "()", "1.2.3"])
def test_refused(text):
    with pytest.raises(AmountError):
        parse_amount(text)


def test_split_keeps_every_cent():
    rng = random.Random(7)
    for _ in range(200):
        total, parts = rng.randrange(0, 10**6), rng.randrange(1, 40)
        got = split_evenly(total, parts)
        assert len(got) == parts
        assert sum(got) == total
        assert max(got) - min(got) <= 1
        assert got == sorted(got, reverse=True)


def test_until_is_inclusive():
    book = Ledger()
    book.post("2023-05-01", "x", a=7, b=-7)
    assert [book.balance("a", until=d) for d in ("2023-04-30", "2023-05-01", "2023-05-02")] == [0, 7, 7]


def test_import():
    book = import_csv("date,text,amount\n2022-01-01,z,(1.01)\n")
    assert repr(book.balance("bank")) == "-101"
