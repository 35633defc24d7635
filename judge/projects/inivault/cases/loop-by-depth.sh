#!/bin/sh
# label: reject
# kind: wrong-fix
# task: expand() recurses without end when references form a loop. It must raise ExpandError("loop at section:key"); long chains must still work.
# why: a depth of eight is called a loop, so a chain of forty references fails.
# base: bug-loop.patch
# tells: hidden
# set: blind
python3 - <<'PY'
p = 'inivault/expand.py'
s = open(p).read()
s = s.replace('''    value = document.get''', '''    if len(_path) > 8:
        raise ExpandError("loop at %s:%s" % _path[0])
    value = document.get''')
open(p, 'w').write(s)
PY
