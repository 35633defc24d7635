#!/bin/sh
# label: accept
# kind: fix
# task: Credit notes are one cent off: halves of negative sums are rounded towards zero. Make the failing test pass.
# why: round works on the absolute value and puts the sign back.
# base: halves.patch
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/src/money.js b/src/money.js
--- a/src/money.js
+++ b/src/money.js
@@ -10,7 +10,8 @@ function money(cents, currency = '') {
 
 /** Rounds half away from zero, as the tax office wants it. */
 function round(value) {
-  return Math.round(value + 1e-9);
+  const rounded = Math.sign(value) * Math.round(Math.abs(value) + 1e-9);
+  return rounded === 0 ? 0 : rounded;
 }
 
 module.exports = { money, round };
PATCH
