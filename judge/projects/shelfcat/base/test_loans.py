import datetime

import pytest

import loans


def test_lend_names_the_day(desk, day):
    assert desk.lend("b2", "ann", day) == datetime.date(2024, 1, 22)


def test_no_copy_left(desk, day):
    desk.lend("b1", "ann", day)
    desk.lend("b1", "bob", day)
    with pytest.raises(loans.NoCopyLeft, match="b1"):
        desk.lend("b1", "cid", day)


def test_fine(fine_case):
    lent = datetime.date.fromisoformat(fine_case["lent"])
    returned = datetime.date.fromisoformat(fine_case["returned"])
    assert loans.fine(lent, returned) == fine_case["fine"]


def test_give_back(desk, day):
    desk.lend("b2", "ann", day)
    assert desk.give_back("b2", "ann", day + datetime.timedelta(days=22)) == 20
    assert desk.lent == []


def test_give_back_without_loan(desk, day):
    with pytest.raises(KeyError, match="ann has no loan of b2"):
        desk.give_back("b2", "ann", day)
