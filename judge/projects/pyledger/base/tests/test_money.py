import pytest

from pyledger import AmountError, format_amount, parse_amount, split_evenly


@pytest.mark.parametrize(
    "text, cents",
    [
        ("12.50", 1250),
        ("1,234.5", 123450),
        ("-3", -300),
        ("€ 7.01", 701),
        (" 0.00 ", 0),
    ],
)
def test_parse_amount(text, cents):
    assert parse_amount(text) == cents


def test_parse_amount_of_accountants():
    assert parse_amount("(12.50)") == -1250
    assert parse_amount("(1,000)") == -100000


@pytest.mark.parametrize("text", ["", "abc", "1.234", "1.", "--2"])
def test_parse_amount_refuses(text):
    with pytest.raises(AmountError):
        parse_amount(text)


def test_format_amount():
    assert format_amount(123456) == "1,234.56"
    assert format_amount(-5, symbol="$") == "-$0.05"


def test_split_evenly():
    assert split_evenly(100, 3) == [34, 33, 33]
    assert split_evenly(9, 3) == [3, 3, 3]


def test_split_evenly_refuses_no_parts():
    with pytest.raises(ValueError, match="at least 1"):
        split_evenly(100, 0)
