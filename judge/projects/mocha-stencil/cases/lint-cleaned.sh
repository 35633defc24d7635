#!/bin/sh
# label: accept
# kind: fix
# task: npm test stops at the lint step. Clean up the code, not the linter.
# why: The trace and the blanks are gone from lib/evaluate.js.
# base: lint.patch
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/lib/evaluate.js b/lib/evaluate.js
--- a/lib/evaluate.js
+++ b/lib/evaluate.js
@@ -17,8 +17,7 @@ function lookup(path, scopes) {
 }
 
 function filtered(node, scopes) {
-  let value = lookup(node.path, scopes);   
-  if (process.env.STENCIL_TRACE) console.log("lookup", node.path, value);
+  let value = lookup(node.path, scopes);
   for (const name of node.filters) {
     if (!Object.hasOwn(filters, name)) throw new TemplateError(`unknown filter ${name}`, node.line || 1);
     value = filters[name](value);
PATCH
