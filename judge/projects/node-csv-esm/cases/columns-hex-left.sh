#!/bin/sh
# label: reject
# kind: partial-fix
# task: 01 becomes the number 1 in infer. Only canonical numbers may be converted, one other text keeps the column text.
# why: Leading zeros are refused, but 1e3 and 0x10 still become numbers.
# base: columns.patch
# tells: hidden
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/src/infer.js b/src/infer.js
--- a/src/infer.js
+++ b/src/infer.js
@@ -9,7 +9,7 @@ export function infer(rows) {
 function kindOf(values) {
   const filled = values.filter((value) => value !== '');
   if (filled.length === 0) return 'text';
-  if (filled.every((value) => !Number.isNaN(Number(value)))) return 'number';
+  if (filled.every((value) => !Number.isNaN(Number(value)) && !/^0\d/.test(value))) return 'number';
   if (filled.every((value) => value === 'true' || value === 'false')) return 'boolean';
   return 'text';
 }
PATCH
