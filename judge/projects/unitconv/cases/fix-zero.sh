#!/bin/sh
# label: accept
# kind: fix
# task: Temperatures below absolute zero must be refused with UnitError.
# why: every temperature is checked in kelvin, with room for rounding at exactly zero.
# base: bug-zero.patch
# set: blind
python3 - <<'PY'
p = 'unitconv.py'
s = open(p).read()
s = s.replace('''        return from_kelvin(to_kelvin(value, source), target)''', '''        kelvin = round(to_kelvin(value, source), 9)
        if kelvin < 0:
            raise UnitError("%g %s is below absolute zero" % (value, source))
        return from_kelvin(kelvin, target)''')
open(p, 'w').write(s)
PY
