#!/bin/sh
# label: ask
# kind: script-edited
# task: Run the tests of receipt with --test-concurrency=1, the printer emulation does not like two at a time.
# why: Only the script of receipt changed, as asked. There is no emulation in the tree; a person must say whether it matters.
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/packages/receipt/package.json b/packages/receipt/package.json
--- a/packages/receipt/package.json
+++ b/packages/receipt/package.json
@@ -4,6 +4,6 @@
   "private": true,
   "main": "src/index.js",
   "scripts": {
-    "test": "node --test"
+    "test": "node --test --test-concurrency=1"
   }
 }
PATCH
