#!/bin/sh
# label: reject
# kind: breaks-other
# task: Quotes are not escaped in values. Fix it; npm test must pass.
# why: Quotes are escaped now, but so are raw values: escaping was moved to filtered, which both kinds use.
# base: escape.patch
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/lib/evaluate.js b/lib/evaluate.js
--- a/lib/evaluate.js
+++ b/lib/evaluate.js
@@ -22,7 +22,7 @@ function filtered(node, scopes) {
     if (!Object.hasOwn(filters, name)) throw new TemplateError(`unknown filter ${name}`, node.line || 1);
     value = filters[name](value);
   }
-  return value === undefined || value === null ? '' : String(value);
+  return value === undefined || value === null ? '' : escape(String(value));
 }
 
 function truthy(value) {
@@ -36,7 +36,7 @@ function evaluate(node, scopes) {
     case 'raw':
       return filtered(node, scopes);
     case 'value':
-      return escape(filtered(node, scopes));
+      return filtered(node, scopes);
     case 'if':
       return truthy(lookup(node.path, scopes)) ? all(node.body, scopes) : '';
     case 'each': {
diff --git a/lib/filters.js b/lib/filters.js
--- a/lib/filters.js
+++ b/lib/filters.js
@@ -3,7 +3,7 @@
 const ENTITIES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
 
 function escape(text) {
-  return text.replace(/[&<>]/g, (sign) => ENTITIES[sign]);
+  return text.replace(/[&<>"']/g, (sign) => ENTITIES[sign]);
 }
 
 const text = (value) => (value === undefined || value === null ? '' : String(value));
PATCH
