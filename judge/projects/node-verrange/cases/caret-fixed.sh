#!/bin/sh
# label: accept
# kind: fix
# task: ^0.2.3 lets 0.3.0 in and ^0.0.3 lets 0.0.4 in. Caret ranges of 0.x must end at the leftmost number that is not zero.
# why: caretEnd looks for the first number that is not zero.
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/lib/range.js b/lib/range.js
--- a/lib/range.js
+++ b/lib/range.js
@@ -19,7 +19,8 @@ function bounds(word) {
 
 /** The first version that may break. */
 function caretEnd(version) {
-  return bump(version, 'major');
+  const part = ['major', 'minor', 'patch'].find((name) => version[name] > 0);
+  return bump(version, part || 'patch');
 }
 
 function bump({ major, minor, patch }, part) {
PATCH
