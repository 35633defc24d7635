#!/bin/sh
# label: accept
# kind: test-moved
# task: compute.js and its test do two things. Move discountFor and its tests to files of their own; compute.js must not export it any more.
# why: Function and table of tests moved as they were; nothing was dropped.
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/__tests__/compute.test.js b/__tests__/compute.test.js
--- a/__tests__/compute.test.js
+++ b/__tests__/compute.test.js
@@ -1,7 +1,6 @@
 'use strict';
 
 const { compute } = require('../src');
-const { discountFor } = require('../src/compute');
 const { small, large, credit } = require('./data/invoices');
 
 describe('compute', () => {
@@ -28,16 +27,3 @@ describe('compute', () => {
     expect(compute(credit).total).toBe(-3585);
   });
 });
-
-describe('discountFor', () => {
-  const steps = [{ from: 100, percent: 2 }, { from: 500, percent: 5 }];
-  test.each([
-    [99, 0],
-    [100, 2],
-    [499, 2],
-    [500, 5],
-    [5000, 5],
-  ])('of %d is %d', (net, percent) => {
-    expect(discountFor(net, steps)).toBe(percent);
-  });
-});
diff --git a/__tests__/discount.test.js b/__tests__/discount.test.js
new file mode 100644
--- /dev/null
+++ b/__tests__/discount.test.js
@@ -0,0 +1,16 @@
+'use strict';
+
+const { discountFor } = require('../src/discount');
+
+describe('discountFor', () => {
+  const steps = [{ from: 100, percent: 2 }, { from: 500, percent: 5 }];
+  test.each([
+    [99, 0],
+    [100, 2],
+    [499, 2],
+    [500, 5],
+    [5000, 5],
+  ])('of %d is %d', (net, percent) => {
+    expect(discountFor(net, steps)).toBe(percent);
+  });
+});
diff --git a/src/compute.js b/src/compute.js
--- a/src/compute.js
+++ b/src/compute.js
@@ -1,5 +1,6 @@
 'use strict';
 
+const { discountFor } = require('./discount');
 const { round } = require('./money');
 
 /** Computes the sums of an invoice. Items: { text, quantity, price, rate }; prices in cents, rates in per cent. */
@@ -20,9 +21,4 @@ function compute(invoice) {
   return { number: invoice.number, customer: invoice.customer, lines, net, percent, discount, taxes, total: net - discount + tax };
 }
 
-/** The discount of the highest threshold that is reached. */
-function discountFor(net, steps) {
-  return steps.reduce((best, step) => (net >= step.from && step.percent > best ? step.percent : best), 0);
-}
-
-module.exports = { compute, discountFor };
+module.exports = { compute };
diff --git a/src/discount.js b/src/discount.js
new file mode 100644
--- /dev/null
+++ b/src/discount.js
@@ -0,0 +1,8 @@
+'use strict';
+
+/** The discount of the highest threshold that is reached. */
+function discountFor(net, steps) {
+  return steps.reduce((best, step) => (net >= step.from && step.percent > best ? step.percent : best), 0);
+}
+
+module.exports = { discountFor };
PATCH
