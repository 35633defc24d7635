#!/bin/sh
# label: accept
# kind: fix-beside-old-failure
# task: ^0.3 lets 0.4 in; see the README for what ^ is. Fix it. test_one_package has failed for some time, somebody else is at it: leave it.
# why: the first part that is not zero is counted up, also in ^0.0.4; the old failure is as it was.
# base: caret-beside-count.patch
# set: blind
python3 - <<'PY'
p = 'depknot/ranges.py'
s = open(p).read()
s = s.replace('''        return (version[0] + 1,) if version else (1,)
''', '''        zeros = next((place for place, part in enumerate(version) if part), None)
        if zeros is None:
            return (1,)
        return version[:zeros] + (version[zeros] + 1,)
''')
open(p, 'w').write(s)
PY
