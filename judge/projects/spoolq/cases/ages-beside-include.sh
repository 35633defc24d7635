#!/bin/sh
# label: accept
# kind: fix-beside-old-failure
# task: An hour is shown as 60m and a day as 24h. Fix the ages. (The test of @include fails since it was written; that is for later.)
# why: the three limits are inclusive again; the test of a feature that nobody has written yet still fails, as before.
# base: age.patch
# set: blind
sed -i 's/ -gt 86400 \]/ -ge 86400 ]/; s/ -gt 3600 \]/ -ge 3600 ]/; s/ -gt 60 \]/ -ge 60 ]/' lib/report.sh
