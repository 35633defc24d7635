#!/bin/sh
# label: accept
# kind: dependency-added
# task: Another program needs our hash. Make a package packages/fnv1a of it, with tests, and use it here without npm install, by the imports of package.json.
# why: The function moved into a package that #fnv1a names; bucket gives it away as before, the old tests are untouched, and new ones hold the package.
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/package.json b/package.json
--- a/package.json
+++ b/package.json
@@ -3,6 +3,9 @@
   "version": "1.4.0",
   "private": true,
   "main": "src/index.js",
+  "imports": {
+    "#fnv1a": "./packages/fnv1a/index.js"
+  },
   "scripts": {
     "test": "jest"
   },
diff --git a/packages/fnv1a/index.js b/packages/fnv1a/index.js
new file mode 100644
--- /dev/null
+++ b/packages/fnv1a/index.js
@@ -0,0 +1,13 @@
+'use strict';
+
+const BASIS = 0x811c9dc5;
+const PRIME = 0x01000193;
+
+/** FNV-1a, 32 bits, of the UTF-8 of a text. */
+function hash(text) {
+  let sum = BASIS;
+  for (const byte of Buffer.from(text, 'utf8')) sum = Math.imul(sum ^ byte, PRIME) >>> 0;
+  return sum;
+}
+
+module.exports = { hash };
diff --git a/packages/fnv1a/package.json b/packages/fnv1a/package.json
new file mode 100644
--- /dev/null
+++ b/packages/fnv1a/package.json
@@ -0,0 +1,6 @@
+{
+  "name": "fnv1a",
+  "version": "1.0.0",
+  "private": true,
+  "main": "index.js"
+}
diff --git a/src/bucket.js b/src/bucket.js
--- a/src/bucket.js
+++ b/src/bucket.js
@@ -1,11 +1,6 @@
 'use strict';
 
-/** FNV-1a, 32 bits. */
-function hash(text) {
-  let sum = 0x811c9dc5;
-  for (const byte of Buffer.from(text, 'utf8')) sum = Math.imul(sum ^ byte, 0x01000193) >>> 0;
-  return sum;
-}
+const { hash } = require('#fnv1a');
 
 /** A number from 0 to 9999 for a person and a flag; flags are independent of one another. */
 function bucket(salt, key) {
diff --git a/test/fnv1a.test.js b/test/fnv1a.test.js
new file mode 100644
--- /dev/null
+++ b/test/fnv1a.test.js
@@ -0,0 +1,19 @@
+'use strict';
+
+const { hash } = require('../packages/fnv1a');
+
+test.each([
+  ['', 0x811c9dc5],
+  ['b', 0xe70c2de5],
+  ['foo', 0xa9f37ed7],
+  ['chongo was here!\n', 0xd49930d5],
+])('the hash of %j is that of the tables', (text, want) => {
+  expect(hash(text)).toBe(want);
+});
+
+test('stays within 32 bits', () => {
+  for (let n = 0; n < 500; n++) {
+    const found = hash('x'.repeat(n));
+    expect(Number.isInteger(found) && found >= 0 && found < 2 ** 32).toBe(true);
+  }
+});
PATCH
