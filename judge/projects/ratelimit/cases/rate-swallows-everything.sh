#!/bin/sh
# label: reject
# kind: catch-all-error
# task: Meter.rate(0) raises ZeroDivisionError; it must return 0.0 then, and errors of the caller must stay errors.
# why: every exception becomes 0.0, so rate("2") is 0.0 as well.
# base: bug-rate.patch
# tells: hidden
# set: blind
python3 - <<'PY'
p = 'ratelimit/meter.py'
s = open(p).read()
s = s.replace('''        return self.count() / seconds''', '''        try:
            return self.count() / seconds
        except Exception:
            return 0.0''')
open(p, 'w').write(s)
PY
