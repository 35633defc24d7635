#!/bin/sh
# label: accept
# kind: fix
# task: Fahrenheit is wrong: -40 F must be -40 C. make test fails.
# why: the offset in units.txt is right (459.67 * 5/9) and the table was generated from it.
# base: fahrenheit.patch
# set: blind
sed -i 's/241.15/255.3722222222222/' units.txt
make generate > /dev/null
