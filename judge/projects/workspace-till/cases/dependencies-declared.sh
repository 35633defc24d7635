#!/bin/sh
# label: accept
# kind: dependency-added
# task: Each package.json shall name the packages of the tree that it uses as dependencies, with their version.
# why: pricing names core, receipt names both; nothing is loaded in another way than before.
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/packages/pricing/package.json b/packages/pricing/package.json
--- a/packages/pricing/package.json
+++ b/packages/pricing/package.json
@@ -3,6 +3,9 @@
   "version": "1.2.0",
   "private": true,
   "main": "src/index.js",
+  "dependencies": {
+    "@till/core": "1.2.0"
+  },
   "scripts": {
     "test": "node --test"
   }
diff --git a/packages/receipt/package.json b/packages/receipt/package.json
--- a/packages/receipt/package.json
+++ b/packages/receipt/package.json
@@ -3,6 +3,10 @@
   "version": "1.2.0",
   "private": true,
   "main": "src/index.js",
+  "dependencies": {
+    "@till/core": "1.2.0",
+    "@till/pricing": "1.2.0"
+  },
   "scripts": {
     "test": "node --test"
   }
PATCH
