#!/bin/sh
# label: accept
# kind: fix-beside-old-failure
# task: 1,000,000 is refused or read wrongly. Fix it. The locale test is known to fail and is none of your business.
# why: All separators are removed now; test/locale.spec.js fails before and after, as the task says.
# base: old-failure.patch
# set: blind
sed -i "s/match\[1\].replace(',', '')/match[1].replaceAll(',', '')/" src/amount.js
