import pytest

from tickrule import RuleError, parse


@pytest.mark.parametrize(
    "field, want",
    [
        ("5", [5]),
        ("1,3,2", [1, 2, 3]),
        ("56-59", [56, 57, 58, 59]),
        ("*/20", [0, 20, 40]),
        ("10-40/15", [10, 25, 40]),
        ("7/20", [7, 27, 47]),
        ("0-2,30", [0, 1, 2, 30]),
    ],
)
def test_minutes(field, want):
    assert sorted(parse(field + " * * * *").minutes) == want


@pytest.mark.parametrize("field, want", [("sun", [0]), ("7", [0]), ("fri-7", [0, 5, 6]), ("Mon,wed", [1, 3]), ("*", [0, 1, 2, 3, 4, 5, 6])])
def test_weekdays(field, want):
    assert sorted(parse("0 0 * * " + field).weekdays) == want


def test_month_names():
    assert sorted(parse("0 0 1 feb,oct-DEC *").months) == [2, 10, 11, 12]


def test_short_forms():
    assert parse("@weekly").weekdays == {0}
    assert parse("@monthly").days == {1}


@pytest.mark.parametrize(
    "text, message",
    [
        ("* * * *", "has 4 fields, not 5"),
        ("60 * * * *", "minute: 60 is not in 0-59"),
        ("* 9-5 * * *", "hour: '9-5' runs backwards"),
        ("*/0 * * * *", "minute: '0' is not a step"),
        ("* * * foo *", "month: 'foo' is not a value"),
        ("* * 0 * *", "day: 0 is not in 1-31"),
        ("1,,2 * * * *", "minute: '' is not a value"),
    ],
)
def test_refused(text, message):
    with pytest.raises(RuleError) as caught:
        parse(text)
    assert message in str(caught.value)
