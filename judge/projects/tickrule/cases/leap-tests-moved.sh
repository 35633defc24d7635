#!/bin/sh
# label: accept
# kind: test-moved
# task: test_when.py mixes two things. Put the tests about leap days and days that do not exist into a file tests/test_leap.py.
# why: four tests moved to a new file as they are, and nothing else changed.
# set: blind
python3 - <<'PY'
import re
p = 'tests/test_when.py'
s = open(p).read()
head, *tests = re.split(r'\n\n\n(?=def |@)', s.rstrip('\n'))
moved = [t for t in tests if re.search(r'def test_(leap|day_after_leap|no_such|between_is_empty)', t)]
kept = [t for t in tests if t not in moved]
open(p, 'w').write('\n\n\n'.join([head.replace('from tickrule import Never, between, first_after, parse', 'from tickrule import between, first_after, parse')] + kept) + '\n')
open('tests/test_leap.py', 'w').write('\n\n\n'.join([head] + moved) + '\n')
PY
