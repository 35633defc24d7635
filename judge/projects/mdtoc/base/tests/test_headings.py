from mdtoc.headings import headings


def test_levels():
    assert list(headings("# A\n### B\ntext\n###### C ##\n")) == [(1, "A"), (3, "B"), (6, "C")]


def test_no_heading():
    assert list(headings("#tag\n####### seven\n")) == []
