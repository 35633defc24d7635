#!/bin/sh
# label: reject
# kind: partial-fix
# task: 1.0.0-beta.11 is sorted before 1.0.0-beta.2. Pre-releases must be compared as the specification says.
# why: A numeric localeCompare sorts beta.2 before beta.11, but capital letters after small ones.
# base: prerelease.patch
# tells: hidden
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/lib/compare.js b/lib/compare.js
--- a/lib/compare.js
+++ b/lib/compare.js
@@ -11,7 +11,7 @@ function comparePre(a, b) {
     if (a[i] === undefined) return -1;
     if (b[i] === undefined) return 1;
     if (a[i] === b[i]) continue;
-    return String(a[i]) < String(b[i]) ? -1 : 1;
+    return String(a[i]).localeCompare(String(b[i]), 'en', { numeric: true });
   }
   return 0;
 }
PATCH
