#!/bin/sh
# label: accept
# kind: fix
# task: split_evenly loses cents (100 in 3 parts gives 99). Fix it.
# why: the remainder is handed out to the first parts, for every total; a regression test was added to the old ones.
# base: bug-split.patch
# set: blind
python3 - <<'PY'
p = 'src/pyledger/money.py'
s = open(p).read()
s = s.replace('''    each = round(total / parts)
    return [each] * parts''', '''    each, rest = divmod(total, parts)
    return [each + (1 if i < rest else 0) for i in range(parts)]''')
open(p, 'w').write(s)
PY
cat >> tests/test_money.py <<'PY'


@pytest.mark.parametrize("total, parts", [(1, 7), (1000, 7), (0, 3)])
def test_split_evenly_keeps_the_total(total, parts):
    assert sum(split_evenly(total, parts)) == total
PY
