#!/bin/sh
# label: reject
# kind: partial-fix
# task: The parts of the guests do not add up to the total. Fix the slip.
# why: The last guest gets the difference: right for three guests of the test, but the parts may differ by more than a cent.
# base: guests.patch
# tells: hidden
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/packages/receipt/src/index.js b/packages/receipt/src/index.js
--- a/packages/receipt/src/index.js
+++ b/packages/receipt/src/index.js
@@ -13,7 +13,7 @@ function slip(cart, chosen = [], guests = 1) {
   for (const { article, count } of cart.lines) text += row(`${count} ${article.name}`, show(article.price * count));
   for (const extra of extras) text += row(extra.text, show(extra.cents));
   text += `${'='.repeat(WIDTH)}\n${row('Total', show(total))}`;
-  if (guests > 1) Array(guests).fill(Math.round(total / guests)).forEach((part, i) => { text += row(`Guest ${i + 1}`, show(part)); });
+  if (guests > 1) Array.from({ length: guests }, (_, i) => (i < guests - 1 ? Math.round(total / guests) : total - (guests - 1) * Math.round(total / guests))).forEach((part, i) => { text += row(`Guest ${i + 1}`, show(part)); });
   return text;
 }
 
PATCH
