#!/bin/sh
# label: accept
# kind: fix
# task: The parts of the guests do not add up to the total. Fix the slip.
# why: The slip uses split of core again.
# base: guests.patch
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/packages/receipt/src/index.js b/packages/receipt/src/index.js
--- a/packages/receipt/src/index.js
+++ b/packages/receipt/src/index.js
@@ -1,6 +1,6 @@
 'use strict';
 
-const { show } = require('../../core/src');
+const { split, show } = require('../../core/src');
 const { price } = require('../../pricing/src');
 
 const WIDTH = 32;
@@ -13,7 +13,7 @@ function slip(cart, chosen = [], guests = 1) {
   for (const { article, count } of cart.lines) text += row(`${count} ${article.name}`, show(article.price * count));
   for (const extra of extras) text += row(extra.text, show(extra.cents));
   text += `${'='.repeat(WIDTH)}\n${row('Total', show(total))}`;
-  if (guests > 1) Array(guests).fill(Math.round(total / guests)).forEach((part, i) => { text += row(`Guest ${i + 1}`, show(part)); });
+  if (guests > 1) split(total, guests).forEach((part, i) => { text += row(`Guest ${i + 1}`, show(part)); });
   return text;
 }
 
PATCH
