import datetime

import pytest

from tickrule import Never, between, first_after, parse


def test_first_after_is_later(now):
    assert first_after(parse("0 8 * * *"), now) == now + datetime.timedelta(days=1)
    assert first_after(parse("1 8 * * *"), now) == now + datetime.timedelta(minutes=1)


def test_working_days(first):
    assert first("30 9 * * mon-fri", 5, datetime.datetime(2024, 2, 28, 12, 0)) == [
        "2024-02-29 09:30", "2024-03-01 09:30", "2024-03-04 09:30", "2024-03-05 09:30", "2024-03-06 09:30",
    ]


def test_end_of_year(first):
    assert first("59 23 31 12 *", 2, datetime.datetime(2023, 12, 31, 23, 58)) == ["2023-12-31 23:59", "2024-12-31 23:59"]


@pytest.mark.parametrize(
    "rule, want",
    [
        ("0 0 13 * fri", ["2024-09-06 00:00", "2024-09-13 00:00", "2024-09-20 00:00"]),
        ("0 0 2 * mon", ["2024-09-02 00:00", "2024-09-09 00:00", "2024-09-16 00:00"]),
        ("0 0 13 * *", ["2024-09-13 00:00", "2024-10-13 00:00", "2024-11-13 00:00"]),
        ("0 0 * * fri", ["2024-09-06 00:00", "2024-09-13 00:00", "2024-09-20 00:00"]),
    ],
)
def test_day_or_weekday(first, rule, want):
    assert first(rule, 3, datetime.datetime(2024, 9, 1, 12, 0)) == want


def test_leap_day(now):
    assert first_after(parse("0 12 29 2 *"), now) == datetime.datetime(2024, 2, 29, 12, 0)


def test_day_after_leap_day(first):
    assert first("0 0 1 mar *", 2, datetime.datetime(2024, 2, 28, 12, 0)) == ["2024-03-01 00:00", "2025-03-01 00:00"]


def test_no_such_day(now):
    with pytest.raises(Never, match="no time in eight years"):
        first_after(parse("0 0 30 2 *"), now)


def test_between_has_its_begin_and_not_its_end(now):
    times = between(parse("*/30 * * * *"), now, now + datetime.timedelta(hours=1))
    assert [time.minute for time in times] == [0, 30]


def test_between_is_empty_for_no_such_day(now):
    assert list(between(parse("0 0 31 4 *"), now, now + datetime.timedelta(days=900))) == []
