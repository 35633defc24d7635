#!/bin/sh
# label: accept
# kind: fix-with-flaky-neighbour
# task: The delays between attempts grow linearly, they should double. Fix it. test/clock.test.js is known to be flaky, leave it.
# why: The delay doubles; the flaky test fails now and then as it did before.
# base: flaky.patch
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/src/retry.js b/src/retry.js
--- a/src/retry.js
+++ b/src/retry.js
@@ -4,7 +4,7 @@ const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
 
 /** Delay before the attempt after the given one: base, 2*base, 4*base ... at most max. */
 function backoff(attempt, base = 100, max = 5000) {
-  return Math.min(max, base * attempt);
+  return Math.min(max, base * 2 ** (attempt - 1));
 }
 
 /** Calls fn until it succeeds, refuses to be repeated, or was called `times` times. */
PATCH
