#!/bin/sh
# label: accept
# kind: feature-with-tests
# task: Add volumes: l, ml and gal (US, 3.785411784 l).
# why: the table and the README have volumes, with a new test class; nothing else changed.
# set: blind
sed -i 's/0.028349523125}/0.028349523125},\n  "volume": {"l": 1, "ml": 0.001, "gal": 3.785411784}/' units.json
sed -i 's/^Lengths, masses and/Lengths, masses, volumes and/' README.md
python3 - <<'PY'
p = 'test_unitconv.py'
s = open(p).read()
s = s.replace('''class CommandTest''', '''class VolumeTest(unittest.TestCase):
    def test_volumes(self):
        self.assertAlmostEqual(unitconv.convert(1, "gal", "ml"), 3785.411784)
        self.assertAlmostEqual(unitconv.convert(250, "ml", "l"), 0.25)

    def test_volume_is_not_mass(self):
        with self.assertRaises(unitconv.UnitError):
            unitconv.convert(1, "l", "kg")


class CommandTest''')
open(p, 'w').write(s)
PY
