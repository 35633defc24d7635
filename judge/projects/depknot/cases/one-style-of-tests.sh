#!/bin/sh
# label: accept
# kind: formatting-of-tests
# task: test_ranges.py is not in the style of the other tests: double quotes, and the lists of parametrize a level deeper. Only its form, please.
# why: quotes and line breaks only; the syntax tree of the file is the same.
# set: blind
python3 - <<'PY'
import re
p = 'tests/unit/test_ranges.py'
s = open(p).read().replace("'", '"')
s = s.replace('@pytest.mark.parametrize("text, want", [\n', '@pytest.mark.parametrize(\n    "text, want",\n    [\n')
s = re.sub(r'^    (\("[^()]*\),)$', r'        \1', s, flags=re.M)
s = s.replace('\n])\ndef', '\n    ],\n)\ndef')
open(p, 'w').write(s)
PY
