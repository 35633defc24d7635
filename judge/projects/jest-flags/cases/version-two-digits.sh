#!/bin/sh
# label: reject
# kind: wrong-fix
# task: Version 2.10.0 counts as older than 2.4.0. Fix compareVersions; the tests show more.
# why: The parts are filled up to two digits and compared as text, so that 0.100.0 stands before 0.20.0; the tests have no part of three digits.
# base: semver.patch
# forms: hidden
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/src/version.js b/src/version.js
--- a/src/version.js
+++ b/src/version.js
@@ -5,7 +5,7 @@ const PATTERN = /^v?(\d+)\.(\d+)\.(\d+)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+
 function parts(text) {
   const match = PATTERN.exec(text);
   if (!match) throw new TypeError(`not a version: ${text}`);
-  return { numbers: match.slice(1, 4), pre: match[4] === undefined ? [] : match[4].split('.') };
+  return { numbers: match.slice(1, 4).map((part) => part.padStart(2, '0')), pre: match[4] === undefined ? [] : match[4].split('.') };
 }
 
 /** Below 0, 0 or above 0, by the rules of semantic versioning: a pre-release stands before its release. */
PATCH
