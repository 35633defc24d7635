#!/bin/sh
# label: accept
# kind: feature-with-tests
# task: Allow "last" as a part of the day field, for the last day of the month. It may stand in a list. Test it and add a line to the README.
# why: days keep a zero for the last day, on() knows the length of the month, words say it; tests and a new golden pair were added, none changed.
# set: blind
python3 - <<'PY'
p = 'src/tickrule/rule.py'
s = open(p).read()
s = s.replace('''"""Reads rules."""

from''', '''"""Reads rules."""

import calendar
from''')
s = s.replace('''class RuleError''', '''# Stands for the last day of the month.
LAST = 0


class RuleError''')
s = s.replace('''        """The values of one part of a list."""
''', '''        """The values of one part of a list."""
        if self.name == "day" and text.lower() == "last":
            return [LAST]
''')
s = s.replace('''        day = date.day in self.days
''', '''        day = date.day in self.days or (LAST in self.days and date.day == calendar.monthrange(date.year, date.month)[1])
''')
open(p, 'w').write(s)
p = 'src/tickrule/table.py'
s = open(p).read()
s = s.replace('from .rule import MONTHS', 'from .rule import LAST, MONTHS')
s = s.replace('''        days.append("on day " + listing(["%d" % day for day in sorted(rule.days)]))
''', '''        numbers = ["%d" % day for day in sorted(rule.days - {LAST})]
        named = ["day " + listing(numbers)] if numbers else []
        if LAST in rule.days:
            named.append("the last day")
        days.append("on " + listing(named))
''')
open(p, 'w').write(s)
p = 'README.md'
s = open(p).read()
s = s.replace('''steps begin at the first value.
''', '''steps begin at the first value,
- `last` in the day field is the last day of the month.
''')
open(p, 'w').write(s)
PY
cat >> tests/test_when.py <<'PY'


def test_last_day(first):
    assert first("0 18 15,last * *", 4, datetime.datetime(2024, 2, 1)) == ["2024-02-15 18:00", "2024-02-29 18:00", "2024-03-15 18:00", "2024-03-31 18:00"]
    assert first("0 18 last feb *", 2, datetime.datetime(2099, 12, 1)) == ["2100-02-28 18:00", "2101-02-28 18:00"]
PY
cat >> tests/test_rule.py <<'PY'


@pytest.mark.parametrize("text", ["last * * * *", "0 0 last-3 * *", "0 0 1 last *"])
def test_last_is_only_a_day(text):
    with pytest.raises(RuleError, match="is not a value"):
        parse(text)
PY
cat > tests/golden/monthend.tab <<'T'
0 12 last * *     count the stamps
0 17 1,last * *   lock the safe
T
cat > tests/golden/monthend.txt <<'T'
count the stamps: at 12:00 on the last day
lock the safe: at 17:00 on day 1 and the last day

2024-02-29 12:00  count the stamps
2024-02-29 17:00  lock the safe
2024-03-01 17:00  lock the safe
T
