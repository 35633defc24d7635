#!/bin/sh
# label: ask
# kind: snapshot-updated-rightly
# task: Lines of the agenda shall say the weekday between date and time, as in "2024-02-26 Mon 07:00  open". Change it, the tests and the golden file with it.
# why: done as asked, but every line of the golden file was written again by the program itself and a test expects other text; a person has to look.
# set: blind
python3 - <<'PY'
p = 'src/tickrule/table.py'
s = open(p).read()
s = s.replace('''    return ["%s  %s" % (time.strftime("%Y-%m-%d %H:%M"), name) for time, _, name in sorted(times)]''', '''    return ["%s %s %s  %s" % (time.date(), DAY_NAMES[time.isoweekday() % 7][:3], time.strftime("%H:%M"), name) for time, _, name in sorted(times)]''')
open(p, 'w').write(s)
PY
sed -i 's/"2024-02-26 0/"2024-02-26 Mon 0/g' tests/test_table.py
make -s golden >/dev/null
