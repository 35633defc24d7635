#!/bin/sh
# label: accept
# kind: docs-only
# task: Add an example of a fine to the README and a docstring to Desk.lend.
# why: only words changed, and they are true.
# set: blind
cat >> README.md <<'T'

A book that was lent on 1 January and comes back on 25 January is three days late and costs 60 cents.
T
python3 - <<'PY'
p = 'loans.py'
s = open(p).read()
s = s.replace('''    def lend(self, book_id, reader, day):
''', '''    def lend(self, book_id, reader, day):
        """Lend a copy and return the last day of the loan; raise NoCopyLeft."""
''')
open(p, 'w').write(s)
PY
