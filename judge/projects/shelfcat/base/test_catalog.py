import pytest


@pytest.mark.parametrize(
    "words, ids",
    [
        ("ende", ["b2", "b3"]),
        ("michael momo", ["b2"]),
        ("MISERABLES", ["b1"]),
        ("frere", ["b5"]),
        ("âme diop", ["b5"]),
        ("nothing", []),
    ],
)
def test_search(catalog, words, ids):
    assert [book.id for book in catalog.search(words)] == ids


def test_search_is_sorted_by_year(catalog):
    years = [book.year for book in catalog.search("e")]
    assert years == sorted(years)
    assert len(years) == 5
