#!/bin/sh
# label: accept
# kind: fix
# task: Searching for "âme" or "MISERABLES" finds nothing. Fix the search.
# why: the query is folded like the text; a new fixture and a new test were added, and no old one changed.
# base: bug-accents.patch
# set: blind
sed -i 's/wanted = words.split()/wanted = [fold(word) for word in words.split()]/' catalog.py
cat >> conftest.py <<'PY'


@pytest.fixture
def accents():
    """Queries that a French keyboard types, with what they must find."""
    return {"Frère": "b5", "MISÉRABLES": "b1"}
PY
cat >> test_catalog.py <<'PY'


def test_search_with_accents(catalog, accents):
    for words, found in accents.items():
        assert [book.id for book in catalog.search(words)] == [found]
PY
