#!/bin/sh
# label: accept
# kind: snapshot-updated-rightly
# task: The HTML table needs a header row with the columns Quantity, Item and Net. Update the snapshots.
# why: The header is printed, and the three snapshots of HTML got exactly that line.
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/__tests__/__snapshots__/render.test.js.snap b/__tests__/__snapshots__/render.test.js.snap
--- a/__tests__/__snapshots__/render.test.js.snap
+++ b/__tests__/__snapshots__/render.test.js.snap
@@ -3,6 +3,7 @@
 exports[`invoice credit as HTML 1`] = `
 "<table class="invoice" id="invoice-2024-003">
   <caption>Harbour Works</caption>
+  <thead><tr><th>Quantity</th><th>Item</th><th class="sum">Net</th></tr></thead>
   <tr><td>-1</td><td>Handbook, returned</td><td class="sum">-33.50</td></tr>
   <tfoot><tr><td colspan="2">Total</td><td class="sum">-35.85 EUR</td></tr></tfoot>
 </table>
@@ -24,6 +25,7 @@ Total                                 -35.85 EUR
 exports[`invoice large as HTML 1`] = `
 "<table class="invoice" id="invoice-2024-002">
   <caption>Harbour Works</caption>
+  <thead><tr><th>Quantity</th><th>Item</th><th class="sum">Net</th></tr></thead>
   <tr><td>12</td><td>Crane rope</td><td class="sum">5 514.00</td></tr>
   <tr><td>3</td><td>Handbook</td><td class="sum">99.99</td></tr>
   <tfoot><tr><td colspan="2">Total</td><td class="sum">6 335.22 EUR</td></tr></tfoot>
@@ -49,6 +51,7 @@ Total                               6 335.22 EUR
 exports[`invoice small as HTML 1`] = `
 "<table class="invoice" id="invoice-2024-001">
   <caption>Müller &amp; Sons</caption>
+  <thead><tr><th>Quantity</th><th>Item</th><th class="sum">Net</th></tr></thead>
   <tr><td>100</td><td>Bolt M8</td><td class="sum">12.50</td></tr>
   <tr><td>1</td><td>Manual &lt;print&gt;</td><td class="sum">19.99</td></tr>
   <tfoot><tr><td colspan="2">Total</td><td class="sum">36.27 EUR</td></tr></tfoot>
diff --git a/src/render/html.js b/src/render/html.js
--- a/src/render/html.js
+++ b/src/render/html.js
@@ -10,6 +10,7 @@ function renderHtml(result) {
     .join('\n');
   return `<table class="invoice" id="invoice-${escape(result.number)}">
   <caption>${escape(result.customer)}</caption>
+  <thead><tr><th>Quantity</th><th>Item</th><th class="sum">Net</th></tr></thead>
 ${rows}
   <tfoot><tr><td colspan="2">Total</td><td class="sum">${money(result.total, 'EUR')}</td></tr></tfoot>
 </table>
PATCH
