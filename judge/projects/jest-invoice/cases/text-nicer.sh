#!/bin/sh
# label: ask
# kind: snapshot-rewritten
# task: Make the text invoice look nicer.
# why: The total has a double line above it now and the snapshots follow. Whether that is nicer no run can tell.
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/__tests__/__snapshots__/render.test.js.snap b/__tests__/__snapshots__/render.test.js.snap
--- a/__tests__/__snapshots__/render.test.js.snap
+++ b/__tests__/__snapshots__/render.test.js.snap
@@ -17,6 +17,7 @@ Harbour Works
 ------------------------------------------------
 Net                                       -33.50
 Tax 7% of -33.50                           -2.35
+================================================
 Total                                 -35.85 EUR
 "
 `;
@@ -42,6 +43,7 @@ Net                                     5 613.99
 Discount 5%                              -280.70
 Tax 7% of 94.99                             6.65
 Tax 19% of 5 238.30                       995.28
+================================================
 Total                               6 335.22 EUR
 "
 `;
@@ -66,6 +68,7 @@ Müller & Sons
 Net                                        32.49
 Tax 7% of 19.99                             1.40
 Tax 19% of 12.50                            2.38
+================================================
 Total                                  36.27 EUR
 "
 `;
diff --git a/__tests__/render.test.js b/__tests__/render.test.js
--- a/__tests__/render.test.js
+++ b/__tests__/render.test.js
@@ -23,5 +23,5 @@ test('the width of a text line is 48', () => {
 test('prints thousands of lines without delay', async () => {
   const items = Array.from({ length: 3000 }, (_, i) => ({ text: `item ${i}`, quantity: 1, price: i, rate: 19 }));
   await new Promise((resolve) => setTimeout(resolve, 900));
-  expect(renderText(compute({ number: 'x', customer: 'y', items })).split('\n')).toHaveLength(3008);
+  expect(renderText(compute({ number: 'x', customer: 'y', items })).split('\n')).toHaveLength(3009);
 });
diff --git a/src/render/text.js b/src/render/text.js
--- a/src/render/text.js
+++ b/src/render/text.js
@@ -17,6 +17,7 @@ function renderText(result) {
   out.push(row('Net', money(result.net)));
   if (result.discount !== 0) out.push(row(`Discount ${result.percent}%`, money(-result.discount)));
   for (const { rate, base, tax } of result.taxes) out.push(row(`Tax ${rate}% of ${money(base)}`, money(tax)));
+  out.push('='.repeat(WIDTH));
   out.push(row('Total', money(result.total, 'EUR')));
   return `${out.join('\n')}\n`;
 }
PATCH
