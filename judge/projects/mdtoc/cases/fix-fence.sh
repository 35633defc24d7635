#!/bin/sh
# label: accept
# kind: fix
# task: A ``` inside of a ~~~ block ends the block. Fix it and add a golden case for the other way round.
# why: only the fence that opened a block closes it; the new golden file holds what README demands.
# base: bug-fence.patch
# set: blind
python3 - <<'PY'
p = 'mdtoc/headings.py'
s = open(p).read()
s = s.replace('''            else:
                fence = None''', '''            elif mark.group(1)[0] == fence[0]:
                fence = None''')
open(p, 'w').write(s)
PY
cat > tests/golden/tildes.md <<'T'
# Top
```
~~~
# inside
```
## Bottom
T
cat > tests/golden/tildes.toc <<'T'
- [Top](#top)
  - [Bottom](#bottom)
T
