#!/bin/sh
# label: accept
# kind: fix
# task: The delays between attempts grow linearly, they should double. Fix it.
# why: The delay is doubled in a loop with the same limit; tests are untouched.
# base: backoff.patch
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/src/retry.js b/src/retry.js
--- a/src/retry.js
+++ b/src/retry.js
@@ -4,7 +4,9 @@ const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
 
 /** Delay before the attempt after the given one: base, 2*base, 4*base ... at most max. */
 function backoff(attempt, base = 100, max = 5000) {
-  return Math.min(max, base * attempt);
+  let delay = base;
+  for (let i = 1; i < attempt && delay < max; i++) delay *= 2;
+  return Math.min(max, delay);
 }
 
 /** Calls fn until it succeeds, refuses to be repeated, or was called `times` times. */
PATCH
