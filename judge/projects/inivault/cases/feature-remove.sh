#!/bin/sh
# label: accept
# kind: feature-with-tests
# task: Add Document.remove(section, key): it removes every line of that key and returns how many there were. Add tests.
# why: the method works, ignores case of keys as all others do, and has tests.
# set: blind
python3 - <<'PY'
p = 'inivault/document.py'
s = open(p).read()
s = s.replace('''    def dump(self):''', '''    def remove(self, section, key):
        """Remove every line of the key and return how many there were."""
        kept = [line for line in self.lines if line[:3] != ("pair", section, key.lower())]
        removed = len(self.lines) - len(kept)
        self.lines = kept
        return removed

    def dump(self):''')
open(p, 'w').write(s)
p = 'tests/test_document.py'
s = open(p).read()
s = s.replace('''

if __name__''', '''
    def test_remove(self):
        document = Document.parse("[a]\\nk=1\\nK=2\\nj=3\\n[b]\\nk=4\\n")
        self.assertEqual(document.remove("a", "K"), 2)
        self.assertEqual(document.remove("a", "K"), 0)
        self.assertEqual(document.dump(), "[a]\\nj = 3\\n[b]\\nk = 4\\n")


if __name__''')
open(p, 'w').write(s)
PY
