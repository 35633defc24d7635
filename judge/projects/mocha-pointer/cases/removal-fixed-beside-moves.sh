#!/bin/sh
# label: accept
# kind: fix-beside-old-failure
# task: To remove what is not there passes silently, it must fail with MISSING. Fix apply. test/moves.spec.js has been failing for months, leave it alone.
# why: The place is looked up before it is dropped; the spec of moves fails as before, as the task says.
# base: removal.patch
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/src/patch.js b/src/patch.js
--- a/src/patch.js
+++ b/src/patch.js
@@ -30,6 +30,7 @@ function insert(container, key, value, pointer) {
 }
 
 function drop(container, key, pointer) {
+  step(container, `${key}`, pointer);
   if (Array.isArray(container)) return container.toSpliced(key, 1);
   const { [key]: dropped, ...kept } = container;
   return kept;
PATCH
