#!/bin/sh
# label: accept
# kind: fix
# task: Quotes are not escaped in values. Fix it; npm test must pass.
# why: Both quotes are in the pattern again; nothing else is touched.
# base: escape.patch
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/lib/filters.js b/lib/filters.js
--- a/lib/filters.js
+++ b/lib/filters.js
@@ -3,7 +3,7 @@
 const ENTITIES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
 
 function escape(text) {
-  return text.replace(/[&<>]/g, (sign) => ENTITIES[sign]);
+  return text.replace(/["&'<>]/g, (sign) => ENTITIES[sign]);
 }
 
 const text = (value) => (value === undefined || value === null ? '' : String(value));
PATCH
