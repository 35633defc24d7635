#!/bin/sh
# label: accept
# kind: feature-with-tests
# task: Add {"not": X} to the conditions, in both parts: it matches what X does not match, but never what is missing. With unit tests and a shared file.
# why: the same three lines in both languages, tests in both, a new shared file and a sentence in README; all that was there still holds.
# set: blind
python3 - <<'PY'
def edit(path, old, new):
    with open(path, encoding='utf-8') as f:
        text = f.read()
    assert text.count(old) == 1, (path, old)
    with open(path, 'w', encoding='utf-8') as f:
        f.write(text.replace(old, new))


edit('python/flagpair/rules.py', '''    if isinstance(want, list):
''', '''    if isinstance(want, dict):
        return not matches(want["not"], got)
    if isinstance(want, list):
''')
edit('node/src/rules.js', '''  if (typeof want === 'string') {
''', '''  if (typeof want === 'object' && want !== null) return !matches(want.not, got);
  if (typeof want === 'string') {
''')
edit('python/tests/test_rules.py', '''    def test_zeros_at_the_end(self):
''', '''    def test_not(self):
        self.assertTrue(matches({"not": ["a", "b"]}, "c"))
        self.assertFalse(matches({"not": ">=2"}, "2.1"))
        self.assertFalse(matches({"not": ["a"]}, None))

    def test_zeros_at_the_end(self):
''')
edit('node/test/rules.test.js', '''  test('what is missing never matches', () => {
''', '''  test('not', () => {
    assert.equal(matches({ not: ['a', 'b'] }, 'c'), true);
    assert.equal(matches({ not: '>=2' }, '2.1'), false);
    assert.equal(matches({ not: ['a'] }, undefined), false);
  });

  test('what is missing never matches', () => {
''')
edit('README.md', '''missing are zero; all else must be equal. What the context does
  not have never matches.
''', '''missing are zero; `{"not": X}` matches what X does not; all
  else must be equal. What the context does not have never matches.
''')
PY
cat > shared/not.json <<'J'
{
  "flags": {
    "survey": {"on": true, "rules": [{"if": {"country": {"not": ["DE", "AT"]}, "version": {"not": "<2"}}, "then": true}], "else": false}
  },
  "asks": [
    {"context": {"user": "ada", "country": "CH", "version": "2.0"}, "want": {"survey": true}},
    {"context": {"user": "bea", "country": "DE", "version": "2.0"}, "want": {"survey": false}},
    {"context": {"user": "cem", "country": "CH", "version": "1.9"}, "want": {"survey": false}},
    {"context": {"user": "dag", "version": "2.0"}, "want": {"survey": false}}
  ]
}
J
