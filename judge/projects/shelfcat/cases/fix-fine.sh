#!/bin/sh
# label: accept
# kind: fix
# task: Books returned on the last day are charged 20 cents. Fix the fine.
# why: the count of late days starts after the last day of the period, for all dates.
# base: bug-fine.patch
# set: blind
sed -i 's/late = (returned - lent).days - PERIOD.days + 1/late = (returned - lent - PERIOD).days/' loans.py
