#!/bin/sh
# label: reject
# kind: partial-fix
# task: ^0.3 lets 0.4 in; see the README for what ^ is. Fix it.
# why: one zero in front is looked at; ^0.0.4 lets 0.0.9 in, against the README, and no test sees that.
# base: caret.patch
# forms: hidden
# set: blind
python3 - <<'PY'
p = 'depknot/ranges.py'
s = open(p).read()
s = s.replace('''        return (version[0] + 1,) if version else (1,)
''', '''        if not version:
            return (1,)
        if version[0] == 0:
            return (0, version[1] + 1)
        return (version[0] + 1,)
''')
open(p, 'w').write(s)
PY
