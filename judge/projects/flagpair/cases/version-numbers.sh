#!/bin/sh
# label: accept
# kind: fix
# task: make test fails: the service gives the new editor to version 2.9, which is below 2.10. Fix it.
# why: parts of versions are numbers again in the Python part; no test, no fixture and no script was touched.
# base: py-version.patch
# set: blind
python3 - <<'PY'
p = 'python/flagpair/rules.py'
s = open(p).read()
s = s.replace('Return the parts of a version', 'Return the numbers of a version')
s = s.replace('numbers = re.findall(r"\\d+", version)', 'numbers = [int(number) for number in re.findall(r"\\d+", version)]')
s = s.replace('not numbers[-1].strip("0")', 'numbers[-1] == 0')
open(p, 'w').write(s)
PY
