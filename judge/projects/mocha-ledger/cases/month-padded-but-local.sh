#!/bin/sh
# label: reject
# kind: wrong-fix
# task: The monthly report writes 2024-3 instead of 2024-03. Fix it, for every date.
# why: padStart(1) pads nothing; the tests fail as before.
# base: month.patch
# set: blind
sed -i 's/String(when.getMonth() + 1)}/String(when.getMonth() + 1).padStart(1, "0")}/' src/report.js
