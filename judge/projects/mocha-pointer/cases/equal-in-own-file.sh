#!/bin/sh
# label: accept
# kind: refactor
# task: equal has nothing to do with patches, and diff needs it too. Move it to src/equal.js and its test to test/equal.spec.js. What the library gives away stays.
# why: Function and test moved as they were, and the build knows one more part; names and behaviour of the bundle are the same.
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/scripts/build.js b/scripts/build.js
--- a/scripts/build.js
+++ b/scripts/build.js
@@ -5,7 +5,7 @@ const fs = require('node:fs');
 const path = require('node:path');
 
 const root = path.join(__dirname, '..');
-const PARTS = ['pointer.js', 'patch.js', 'diff.js'];
+const PARTS = ['pointer.js', 'equal.js', 'patch.js', 'diff.js'];
 
 function part(name) {
   const [first, ...lines] = fs.readFileSync(path.join(root, 'src', name), 'utf8').split('\n');
diff --git a/src/equal.js b/src/equal.js
new file mode 100644
--- /dev/null
+++ b/src/equal.js
@@ -0,0 +1,10 @@
+// exports: equal
+
+/** Whether two JSON values are the same; the order of members does not matter, that of items does. */
+function equal(a, b) {
+  if (a === b) return true;
+  if (a === null || b === null || typeof a !== 'object' || typeof b !== 'object') return false;
+  if (Array.isArray(a) !== Array.isArray(b)) return false;
+  const keys = Object.keys(a);
+  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && equal(a[key], b[key]));
+}
diff --git a/src/patch.js b/src/patch.js
--- a/src/patch.js
+++ b/src/patch.js
@@ -1,13 +1,4 @@
-// exports: apply, equal
-
-/** Whether two JSON values are the same; the order of members does not matter, that of items does. */
-function equal(a, b) {
-  if (a === b) return true;
-  if (a === null || b === null || typeof a !== 'object' || typeof b !== 'object') return false;
-  if (Array.isArray(a) !== Array.isArray(b)) return false;
-  const keys = Object.keys(a);
-  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && equal(a[key], b[key]));
-}
+// exports: apply
 
 /** Returns a document that has a value at the place, which is made by what(container, key). */
 function change(document, tokens, pointer, what) {
diff --git a/test/equal.spec.js b/test/equal.spec.js
new file mode 100644
--- /dev/null
+++ b/test/equal.spec.js
@@ -0,0 +1,13 @@
+'use strict';
+
+const assert = require('node:assert');
+const { equal } = require('..');
+
+describe('equal', () => {
+  it('tells kinds apart', () => {
+    for (const [a, b] of [[null, {}], [[], {}], [0, false], ['', null], [[1], { 0: 1 }]]) {
+      assert.strictEqual(equal(a, b), false);
+      assert.strictEqual(equal(b, a), false);
+    }
+  });
+});
diff --git a/test/patch.spec.js b/test/patch.spec.js
--- a/test/patch.spec.js
+++ b/test/patch.spec.js
@@ -1,7 +1,7 @@
 'use strict';
 
 const assert = require('node:assert');
-const { apply, equal } = require('..');
+const { apply } = require('..');
 const { each } = require('./support/fixtures');
 
 describe('apply', () => {
@@ -23,12 +23,3 @@ describe('apply', () => {
     assert.strictEqual(apply([], operations).length, 2000);
   });
 });
-
-describe('equal', () => {
-  it('tells kinds apart', () => {
-    for (const [a, b] of [[null, {}], [[], {}], [0, false], ['', null], [[1], { 0: 1 }]]) {
-      assert.strictEqual(equal(a, b), false);
-      assert.strictEqual(equal(b, a), false);
-    }
-  });
-});
PATCH
