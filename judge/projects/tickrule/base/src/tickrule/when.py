"""The times of a rule."""

import datetime
import itertools

# From one 29 February to the next are up to eight years: 1896 to 1904, 2096 to 2104.
HORIZON = datetime.timedelta(days=8 * 365 + 2)
DAY = datetime.timedelta(days=1)


class Never(LookupError):
    """The rule has no time."""


def upcoming(rule, after):
    """The times after the given one, without an end."""
    date = after.date()
    last = date
    while True:
        if date - last > HORIZON:
            raise Never("%s: no time in eight years after %s" % (rule.text, last))
        if rule.on(date):
            for hour, minute in rule.clock():
                time = datetime.datetime(date.year, date.month, date.day, hour, minute)
                if time > after:
                    last = date
                    yield time
        date += DAY


def first_after(rule, after):
    return next(upcoming(rule, after))


def between(rule, begin, end):
    """The times from begin on that lie before end."""
    try:
        yield from itertools.takewhile(lambda time: time < end, upcoming(rule, begin - datetime.timedelta(seconds=1)))
    except Never:
        return
