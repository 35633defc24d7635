"""Reads rules."""

from dataclasses import dataclass

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")

SHORT = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
}


class RuleError(ValueError):
    """The text is not a rule."""


@dataclass(frozen=True)
class Field:
    name: str
    low: int
    high: int
    names: tuple = ()

    def number(self, text):
        if text.lower() in self.names:
            return self.names.index(text.lower()) + self.low
        if not text.isascii() or not text.isdigit():
            raise RuleError("%s: %r is not a value" % (self.name, text))
        number = int(text)
        if not self.low <= number <= self.high:
            raise RuleError("%s: %d is not in %d-%d" % (self.name, number, self.low, self.high))
        return number

    def part(self, text):
        """The values of one part of a list."""
        span, slash, step = text.partition("/")
        if slash and (not step.isdigit() or int(step) == 0):
            raise RuleError("%s: %r is not a step" % (self.name, step))
        if span == "*":
            low, high = self.low, self.high
        elif "-" in span:
            low, high = (self.number(end) for end in span.split("-", 1))
            if low > high:
                raise RuleError("%s: %r runs backwards" % (self.name, span))
        else:
            low = self.number(span)
            high = self.high if slash else low
        return range(low, high + 1, int(step) if slash else 1)

    def read(self, text):
        return frozenset(value for part in text.split(",") for value in self.part(part))


MINUTE = Field("minute", 0, 59)
HOUR = Field("hour", 0, 23)
DAY = Field("day", 1, 31)
MONTH = Field("month", 1, 12, MONTHS)
WEEKDAY = Field("weekday", 0, 7, WEEKDAYS)


@dataclass(frozen=True)
class Rule:
    text: str
    minutes: frozenset
    hours: frozenset
    days: frozenset
    months: frozenset
    weekdays: frozenset
    any_day: bool
    any_weekday: bool

    def on(self, date):
        """Whether the rule has times on the date."""
        if date.month not in self.months:
            return False
        day = date.day in self.days
        weekday = date.isoweekday() % 7 in self.weekdays
        if self.any_day or self.any_weekday:
            return day and weekday
        return day or weekday

    def clock(self):
        """Hours and minutes of a day, in order."""
        return [(hour, minute) for hour in sorted(self.hours) for minute in sorted(self.minutes)]


def parse(text):
    fields = SHORT.get(text.strip(), text).split()
    if len(fields) != 5:
        raise RuleError("%r has %d fields, not 5" % (text, len(fields)))
    minute, hour, day, month, weekday = fields
    return Rule(
        text=" ".join(text.split()),
        minutes=MINUTE.read(minute),
        hours=HOUR.read(hour),
        days=DAY.read(day),
        months=MONTH.read(month),
        weekdays=frozenset(value % 7 for value in WEEKDAY.read(weekday)),
        any_day=day == "*",
        any_weekday=weekday == "*",
    )
