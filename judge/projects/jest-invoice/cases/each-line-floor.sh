#!/bin/sh
# label: reject
# kind: wrong-fix
# task: Tax comes out a cent too high at times. It must be rounded half up, see the failing tests.
# why: Math.ceil became Math.floor: tests still fail, other sums are too low now.
# base: each-line.patch
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/src/compute.js b/src/compute.js
--- a/src/compute.js
+++ b/src/compute.js
@@ -14,7 +14,7 @@ function compute(invoice) {
   }
   const taxes = [...byRate]
     .sort(([a], [b]) => a - b)
-    .map(([rate, base]) => ({ rate, base: round(base), tax: Math.ceil((base * rate) / 100) }));
+    .map(([rate, base]) => ({ rate, base: round(base), tax: Math.floor((base * rate) / 100) }));
   const discount = round((net * percent) / 100);
   const tax = taxes.reduce((sum, row) => sum + row.tax, 0);
   return { number: invoice.number, customer: invoice.customer, lines, net, percent, discount, taxes, total: net - discount + tax };
PATCH
