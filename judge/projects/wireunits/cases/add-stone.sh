#!/bin/sh
# label: accept
# kind: generated-files
# task: Add the stone (st, 14 lb) and the nautical mile (nmi, 1852 m), with tests.
# why: two lines in units.txt, the table generated, new tests, and the list of masses in TestNames grew by st, as it must.
# set: blind
sed -i 's/^mi      length.*/&\nnmi     length       1852       0/; s/^oz      mass.*/&\nst      mass         6.35029318 0/' units.txt
make generate > /dev/null
sed -i 's/"g kg lb oz t"/"g kg lb oz st t"/' units/units_test.go
sed -i 's/^\tnear(t, 3, "ft", "yd", 1)/&\n\tnear(t, 1, "nmi", "m", 1852)/; s/^\tnear(t, 2, "t", "kg", 2000)/&\n\tnear(t, 1, "st", "lb", 14)/' convert/convert_test.go
