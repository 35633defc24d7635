#!/bin/sh
# label: accept
# kind: fix
# task: parse reads ~01 as a slash, it must be ~1. See the failing test.
# why: Both escapes are read in one pass, so that what one made is not read again.
# base: tilde.patch
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/src/pointer.js b/src/pointer.js
--- a/src/pointer.js
+++ b/src/pointer.js
@@ -14,7 +14,7 @@ function parse(pointer) {
   if (typeof pointer !== 'string' || pointer[0] !== '/' || /~(?![01])/.test(pointer)) {
     throw new PointerError('SYNTAX', JSON.stringify(pointer));
   }
-  return pointer.slice(1).split('/').map((token) => token.replace(/~0/g, '~').replace(/~1/g, '/'));
+  return pointer.slice(1).split('/').map((token) => token.replace(/~[01]/g, (escape) => (escape === '~0' ? '~' : '/')));
 }
 
 /** The inverse of parse. */
PATCH
