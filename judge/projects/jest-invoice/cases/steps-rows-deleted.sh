#!/bin/sh
# label: reject
# kind: tests-deleted
# task: A discount of several steps always gives the first step reached. Fix it.
# why: The rows that fail were taken out of the table, and everything about the large invoice with them.
# base: steps.patch
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/__tests__/__snapshots__/render.test.js.snap b/__tests__/__snapshots__/render.test.js.snap
--- a/__tests__/__snapshots__/render.test.js.snap
+++ b/__tests__/__snapshots__/render.test.js.snap
@@ -21,31 +21,6 @@ Total                                 -35.85 EUR
 "
 `;
 
-exports[`invoice large as HTML 1`] = `
-"<table class="invoice" id="invoice-2024-002">
-  <caption>Harbour Works</caption>
-  <tr><td>12</td><td>Crane rope</td><td class="sum">5 514.00</td></tr>
-  <tr><td>3</td><td>Handbook</td><td class="sum">99.99</td></tr>
-  <tfoot><tr><td colspan="2">Total</td><td class="sum">6 335.22 EUR</td></tr></tfoot>
-</table>
-"
-`;
-
-exports[`invoice large as text 1`] = `
-"Invoice 2024-002
-Harbour Works
-------------------------------------------------
-12 x Crane rope                         5 514.00
-3 x Handbook                               99.99
-------------------------------------------------
-Net                                     5 613.99
-Discount 5%                              -280.70
-Tax 7% of 94.99                             6.65
-Tax 19% of 5 238.30                       995.28
-Total                               6 335.22 EUR
-"
-`;
-
 exports[`invoice small as HTML 1`] = `
 "<table class="invoice" id="invoice-2024-001">
   <caption>Müller &amp; Sons</caption>
diff --git a/__tests__/compute.test.js b/__tests__/compute.test.js
--- a/__tests__/compute.test.js
+++ b/__tests__/compute.test.js
@@ -2,7 +2,7 @@
 
 const { compute } = require('../src');
 const { discountFor } = require('../src/compute');
-const { small, large, credit } = require('./data/invoices');
+const { small, credit } = require('./data/invoices');
 
 describe('compute', () => {
   test('sums the lines', () => {
@@ -17,12 +17,6 @@ describe('compute', () => {
     expect(compute(small).total).toBe(3627);
   });
 
-  test('gives the discount of the highest step reached', () => {
-    const result = compute(large);
-    expect(result).toMatchObject({ net: 561399, percent: 5, discount: 28070 });
-    expect(result.total).toBe(633522);
-  });
-
   test('rounds negative sums away from zero', () => {
     expect(compute(credit).taxes).toEqual([{ rate: 7, base: -3350, tax: -235 }]);
     expect(compute(credit).total).toBe(-3585);
@@ -35,8 +29,6 @@ describe('discountFor', () => {
     [99, 0],
     [100, 2],
     [499, 2],
-    [500, 5],
-    [5000, 5],
   ])('of %d is %d', (net, percent) => {
     expect(discountFor(net, steps)).toBe(percent);
   });
PATCH
