#!/bin/sh
# label: reject
# kind: partial-fix
# task: A bucket that nobody uses for a minute hands out more than its capacity, and available() shows more than there can be. Fix both.
# why: take() is bounded; available() and wait_time() still work with more tokens than fit.
# base: bug-overfull.patch
# tells: hidden
# set: blind
python3 - <<'PY'
p = 'ratelimit/bucket.py'
s = open(p).read()
s = s.replace('''        self._refill()
        if count > self._tokens''', '''        self._refill()
        if self._tokens > self.capacity:
            self._tokens = self.capacity
        if count > self._tokens''')
open(p, 'w').write(s)
PY
