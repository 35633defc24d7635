#!/bin/sh
# label: accept
# kind: fix
# task: Halves of a cent are always rounded up by percent of core; they must go to the even neighbour. The tests of pricing show it.
# why: percent of core looks at the lower neighbour again; pricing and receipt follow.
# base: even.patch
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/packages/core/src/amount.js b/packages/core/src/amount.js
--- a/packages/core/src/amount.js
+++ b/packages/core/src/amount.js
@@ -12,7 +12,7 @@ function percent(cents, rate) {
   const exact = (cents * rate) / 100;
   const down = Math.floor(exact);
   const part = exact - down;
-  if (Math.abs(part - 0.5) < 1e-9) return down + 1;
+  if (Math.abs(part - 0.5) < 1e-9) return down + (down % 2);
   return part < 0.5 ? down : down + 1;
 }
 
PATCH
