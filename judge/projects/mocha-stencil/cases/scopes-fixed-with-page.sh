#!/bin/sh
# label: accept
# kind: feature-with-tests
# task: Nested each loses the outer scope. Fix it and add a page of three levels.
# why: The whole chain of scopes is handed down; the new page has three levels.
# base: scopes.patch
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/lib/evaluate.js b/lib/evaluate.js
--- a/lib/evaluate.js
+++ b/lib/evaluate.js
@@ -41,7 +41,7 @@ function evaluate(node, scopes) {
       return truthy(lookup(node.path, scopes)) ? all(node.body, scopes) : '';
     case 'each': {
       const list = lookup(node.path, scopes) || [];
-      return list.map((item, index) => all(node.body, [item, { '@index': index }, scopes[0]])).join('');
+      return list.map((item, index) => all(node.body, [item, { '@index': index }].concat(scopes))).join('');
     }
     default:
       return all(node.body, scopes);
diff --git a/test/pages/levels.html b/test/pages/levels.html
new file mode 100644
--- /dev/null
+++ b/test/pages/levels.html
@@ -0,0 +1 @@
+p123;q123;
diff --git a/test/pages/levels.json b/test/pages/levels.json
new file mode 100644
--- /dev/null
+++ b/test/pages/levels.json
@@ -0,0 +1 @@
+{ "x": 1, "a": [{ "y": 2, "b": [{ "z": 3, "c": ["p", "q"] }] }] }
diff --git a/test/pages/levels.tmpl b/test/pages/levels.tmpl
new file mode 100644
--- /dev/null
+++ b/test/pages/levels.tmpl
@@ -0,0 +1 @@
+{{#each a}}{{#each b}}{{#each c}}{{this}}{{x}}{{y}}{{z}};{{/each}}{{/each}}{{/each}}
PATCH
