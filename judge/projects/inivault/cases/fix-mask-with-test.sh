#!/bin/sh
# label: accept
# kind: fix
# task: masked() shows api_token in the clear. Hide every key that contains one of the words.
# why: the word may stand anywhere in the key, in any case; a test for a mixed-case key was added.
# base: bug-mask.patch
# set: blind
python3 - <<'PY'
p = 'inivault/mask.py'
s = open(p).read()
s = s.replace('''    return key.lower() in WORDS''', '''    lowered = key.lower()
    return any(word in lowered for word in WORDS)''')
open(p, 'w').write(s)
PY
cat >> tests/test_mask.py <<'PY'

    def test_word_in_the_middle(self):
        document = Document.parse("[a]\nMy_Secret_Key = 1\nkey = 2\n")
        self.assertEqual(masked(document, "a"), {"my_secret_key": "***", "key": "2"})
PY
