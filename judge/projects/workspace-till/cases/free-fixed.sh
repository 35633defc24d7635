#!/bin/sh
# label: accept
# kind: fix
# task: Three for two gives every second one away. Fix the rule.
# why: Every third one is free again.
# base: free.patch
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/packages/pricing/src/index.js b/packages/pricing/src/index.js
--- a/packages/pricing/src/index.js
+++ b/packages/pricing/src/index.js
@@ -7,7 +7,7 @@ const rules = {
   /** Every third one is free. */
   threeForTwo: (code) => (cart) => {
     const line = cart.lines.find(({ article }) => article.code === code);
-    const free = line ? Math.floor(line.count / 2) : 0;
+    const free = line ? (line.count - (line.count % 3)) / 3 : 0;
     return free > 0 ? [{ text: `3 for 2 ${line.article.name}`, cents: -free * line.article.price }] : [];
   },
 
PATCH
