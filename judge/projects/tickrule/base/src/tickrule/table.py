"""Tables of rules: their agenda, and what they say in words."""

import re
from dataclasses import dataclass

from .rule import MONTHS, WEEKDAYS, Rule, RuleError, parse
from .when import between

DAY_NAMES = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
MONTH_NAMES = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December")
assert len(DAY_NAMES) == len(WEEKDAYS) and len(MONTH_NAMES) == len(MONTHS)


class TableError(ValueError):
    """A line of a table is wrong."""


@dataclass(frozen=True)
class Entry:
    rule: Rule
    name: str


def read_table(text):
    entries = []
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        match = re.fullmatch(r"(.*?\S)\s{2,}(\S.*)", line)
        if not match:
            raise TableError("line %d: no name" % number)
        try:
            entries.append(Entry(parse(match[1]), match[2]))
        except RuleError as error:
            raise TableError("line %d: %s" % (number, error)) from error
    return entries


def agenda(entries, begin, end):
    """Lines with time and name, in order of time and then of the table."""
    times = [(time, place, entry.name) for place, entry in enumerate(entries) for time in between(entry.rule, begin, end)]
    return ["%s  %s" % (time.strftime("%Y-%m-%d %H:%M"), name) for time, _, name in sorted(times)]


def listing(items):
    """'a', 'a and b', 'a, b and c'"""
    *head, last = items
    return ", ".join(head) + " and " + last if head else last


def describe(rule):
    """The rule in words."""
    said = []
    if len(rule.minutes) == 60 and len(rule.hours) == 24:
        said.append("every minute")
    elif len(rule.hours) == 24:
        said.append("at %s past every hour" % listing(["%d" % minute for minute in sorted(rule.minutes)]))
    elif len(rule.minutes) * len(rule.hours) <= 6:
        said.append("at " + listing(["%02d:%02d" % time for time in rule.clock()]))
    else:
        said.append("%d times a day, first at %02d:%02d" % (len(rule.clock()), *rule.clock()[0]))
    days = []
    if not rule.any_day:
        days.append("on day " + listing(["%d" % day for day in sorted(rule.days)]))
    if not rule.any_weekday:
        days.append("on " + listing([DAY_NAMES[day] for day in sorted(rule.weekdays)]))
    if days:
        said.append(" or ".join(days))
    if len(rule.months) < 12:
        said.append("in " + listing([MONTH_NAMES[month - 1] for month in sorted(rule.months)]))
    return " ".join(said)
