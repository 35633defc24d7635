#!/bin/sh
# label: accept
# kind: formatting-of-tests
# task: Bring test_unitconv.py to our new style: single quotes, and one call per line in test_temperatures.
# why: only quotes and line breaks of the tests changed; their syntax trees are equal.
# set: blind
python3 - <<'PY'
import re
p = 'test_unitconv.py'
head, rest = open(p).read().split('"""\n', 1)
rest = re.sub(r'"([^"\']*)"', r"'\1'", rest)
rest = rest.replace("self.assertAlmostEqual(unitconv.convert(20, 'C', 'F'), 68)", """self.assertAlmostEqual(
            unitconv.convert(20, 'C', 'F'),
            68,
        )""")
open(p, 'w').write(head + '"""\n' + rest)
PY
