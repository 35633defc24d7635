#!/bin/sh
# label: accept
# kind: fix
# task: expand() recurses without end when references form a loop. It must raise ExpandError("loop at section:key").
# why: the path of references is checked before a value is read; loops of any length are found.
# base: bug-loop.patch
# set: blind
python3 - <<'PY'
p = 'inivault/expand.py'
s = open(p).read()
s = s.replace('''    here = (section, key.lower())
''', '''    here = (section, key.lower())
    if here in _path:
        raise ExpandError("loop at %s:%s" % here)
''')
open(p, 'w').write(s)
PY
