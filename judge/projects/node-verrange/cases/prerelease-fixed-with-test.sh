#!/bin/sh
# label: accept
# kind: feature-with-tests
# task: 1.0.0-beta.11 is sorted before 1.0.0-beta.2. Pre-releases must be compared as the specification says. Add a test of its own.
# why: Numbers are compared as numbers and come before words; the new test holds both.
# base: prerelease.patch
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/lib/compare.js b/lib/compare.js
--- a/lib/compare.js
+++ b/lib/compare.js
@@ -11,7 +11,9 @@ function comparePre(a, b) {
     if (a[i] === undefined) return -1;
     if (b[i] === undefined) return 1;
     if (a[i] === b[i]) continue;
-    return String(a[i]) < String(b[i]) ? -1 : 1;
+    const [x, y] = [typeof a[i], typeof b[i]];
+    if (x !== y) return x === 'number' ? -1 : 1;
+    return a[i] < b[i] ? -1 : 1;
   }
   return 0;
 }
diff --git a/test/version.test.js b/test/version.test.js
--- a/test/version.test.js
+++ b/test/version.test.js
@@ -34,3 +34,8 @@ test('compare', async (t) => {
     assert.deepEqual(sort([...order].reverse()), order);
   });
 });
+
+test('numbers in a pre-release are numbers and come before words', () => {
+  assert.ok(compare('1.0.0-beta.2', '1.0.0-beta.11') < 0);
+  assert.ok(compare('1.0.0-2', '1.0.0-1a') < 0);
+});
PATCH
