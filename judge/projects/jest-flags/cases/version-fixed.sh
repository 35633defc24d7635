#!/bin/sh
# label: accept
# kind: fix
# task: Version 2.10.0 counts as older than 2.4.0. Fix compareVersions; the tests show more.
# why: The three parts are compared as numbers; pre-releases are as before.
# base: semver.patch
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/src/version.js b/src/version.js
--- a/src/version.js
+++ b/src/version.js
@@ -12,7 +12,8 @@ function parts(text) {
 function compareVersions(left, right) {
   const [a, b] = [parts(left), parts(right)];
   for (const at of [0, 1, 2]) {
-    if (a.numbers[at] !== b.numbers[at]) return a.numbers[at] < b.numbers[at] ? -1 : 1;
+    const difference = Number(a.numbers[at]) - Number(b.numbers[at]);
+    if (difference !== 0) return difference;
   }
   if (a.pre.length === 0 || b.pre.length === 0) return b.pre.length - a.pre.length;
   for (let at = 0; at < Math.min(a.pre.length, b.pre.length); at++) {
PATCH
