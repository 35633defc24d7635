#!/bin/sh
# label: reject
# kind: wrong-fix
# task: A rule for 29 February has no next time when the leap year is more than a year away; the README says eight years. Fix the search.
# why: four years are enough for the tests, but not around 2100, and the README says eight.
# base: horizon.patch
# forms: hidden
# set: blind
sed -i 's/^HORIZON = .*/# A leap year comes every four years.\nHORIZON = datetime.timedelta(days=4 * 365 + 1)/' src/tickrule/when.py
