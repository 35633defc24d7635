import datetime

import pytest

import loans
from catalog import Book, Catalog

START = datetime.date(2023, 3, 1)


@pytest.mark.parametrize("days, cents", [(0, 0), (20, 0), (21, 0), (22, 20), (25, 80), (70, 980), (71, 1000), (72, 1000), (900, 1000)])
def test_fine(days, cents):
    assert loans.fine(START, START + datetime.timedelta(days=days)) == cents


def test_desk():
    desk = loans.Desk(Catalog([Book("x", "T", "A", 1900)]))
    assert desk.lend("x", "r", START) == START + datetime.timedelta(days=21)
    with pytest.raises(loans.NoCopyLeft):
        desk.lend("x", "s", START)
    assert desk.give_back("x", "r", START + datetime.timedelta(days=23)) == 40


@pytest.mark.parametrize("words, ids", [("ecole", ["q"]), ("ÉCOLE", ["q"]), ("strasse", ["r"]), ("ecole strasse", []), ("zoë", ["q"])])
def test_search(words, ids):
    shelf = Catalog([Book("q", "L'école", "Zoe", 1950), Book("r", "Die STRASSE", "Bö", 1940)])
    assert [b.id for b in shelf.search(words)] == ids
