import datetime
import pathlib

import pytest

from tickrule import TableError, agenda, describe, read_table

TABLES = sorted(pathlib.Path(__file__).parent.glob("golden/*.tab"))
BEGIN = datetime.datetime(2024, 2, 26)
END = BEGIN + datetime.timedelta(days=7)


@pytest.mark.parametrize("table", TABLES, ids=lambda path: path.stem)
def test_golden(golden, table):
    entries = read_table(table.read_text(encoding="utf-8"))
    words = ["%s: %s" % (entry.name, describe(entry.rule)) for entry in entries]
    golden.check(table.stem + ".txt", "\n".join(words + [""] + agenda(entries, BEGIN, END)) + "\n")


def test_there_are_tables(golden):
    assert golden.tables() == TABLES != []


def test_order_of_the_table():
    lines = agenda(read_table("0 9 * * *  second\n0 8 * * *  first\n0 9 * * *  third\n"), BEGIN, BEGIN + datetime.timedelta(days=1))
    assert lines == ["2024-02-26 08:00  first", "2024-02-26 09:00  second", "2024-02-26 09:00  third"]


@pytest.mark.parametrize("line, message", [("0 8 * * * x", "line 2: no name"), ("0 24 * * *  x", "line 2: hour: 24 is not in 0-23")])
def test_wrong_lines(line, message):
    with pytest.raises(TableError) as caught:
        read_table("# a comment\n%s\n" % line)
    assert str(caught.value) == message
