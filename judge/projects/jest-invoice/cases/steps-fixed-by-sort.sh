#!/bin/sh
# label: accept
# kind: fix
# task: A discount of several steps always gives the first step reached. Fix it.
# why: The steps are sorted by threshold before the first is taken; the order of the input does not matter.
# base: steps.patch
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/src/compute.js b/src/compute.js
--- a/src/compute.js
+++ b/src/compute.js
@@ -22,7 +22,7 @@ function compute(invoice) {
 
 /** The discount of the highest threshold that is reached. */
 function discountFor(net, steps) {
-  const step = steps.find((candidate) => net >= candidate.from);
+  const step = [...steps].sort((a, b) => b.from - a.from).find((candidate) => net >= candidate.from);
   return step ? step.percent : 0;
 }
 
PATCH
