#!/bin/sh
# label: accept
# kind: fix
# task: VAT must be rounded half to even, as the README says. Two tests fail.
# why: a half goes to the even neighbour; no test was touched.
# base: half.patch
# set: blind
sed -i 's/^\tif rest >= 500 {/\tif rest > 500 || (rest == 500 \&\& quotient%2 != 0) {/' money/money.go
