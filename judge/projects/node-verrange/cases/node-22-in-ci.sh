#!/bin/sh
# label: ask
# kind: ci-edited
# task: We run on Node 22 now. Adapt the repository.
# why: Workflow and engines name 22. What the CI server does with it no run here can tell.
# base: green.patch
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/.github/workflows/test.yml b/.github/workflows/test.yml
--- a/.github/workflows/test.yml
+++ b/.github/workflows/test.yml
@@ -6,5 +6,5 @@ jobs:
     steps:
       - uses: actions/checkout@v4
       - uses: actions/setup-node@v4
-        with: { node-version: 20 }
+        with: { node-version: 22 }
       - run: npm test
diff --git a/package.json b/package.json
--- a/package.json
+++ b/package.json
@@ -4,7 +4,7 @@
   "main": "lib/index.js",
   "bin": { "verrange": "bin/verrange.js" },
   "license": "MIT",
-  "engines": { "node": ">=20" },
+  "engines": { "node": ">=22" },
   "scripts": {
     "test": "node --test"
   }
PATCH
