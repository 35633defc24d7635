#!/bin/sh
# label: reject
# kind: breaks-other
# task: set() puts a new key right below the section header. It must go to the end of the section.
# why: the new key goes to the end, but comments are dropped when a file is read.
# base: bug-set.patch
# set: blind
python3 - <<'PY'
p = 'inivault/document.py'
s = open(p).read()
s = s.replace('''                if kind == "section":''', '''                if kind != "comment":''')
s = s.replace('''                lines.append(("comment", section, None, raw))
                continue''', '''                continue''')
open(p, 'w').write(s)
PY
