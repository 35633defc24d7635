#!/bin/sh
# label: reject
# kind: breaks-other
# task: The parts of the guests do not add up to the total. Fix the slip.
# why: The slip splits again, but split of core was turned around so that the smaller parts come first; the tests of core fail.
# base: guests.patch
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/packages/core/src/amount.js b/packages/core/src/amount.js
--- a/packages/core/src/amount.js
+++ b/packages/core/src/amount.js
@@ -4,7 +4,7 @@
 function split(cents, n) {
   const small = Math.floor(cents / n);
   const rest = cents - small * n;
-  return Array.from({ length: n }, (_, i) => small + (i < rest ? 1 : 0));
+  return Array.from({ length: n }, (_, i) => small + (i >= n - rest ? 1 : 0));
 }
 
 /** A share in per cent, rounded to whole cents, halves to the even neighbour. */
diff --git a/packages/receipt/src/index.js b/packages/receipt/src/index.js
--- a/packages/receipt/src/index.js
+++ b/packages/receipt/src/index.js
@@ -1,6 +1,6 @@
 'use strict';
 
-const { show } = require('../../core/src');
+const { show, split } = require('../../core/src');
 const { price } = require('../../pricing/src');
 
 const WIDTH = 32;
@@ -13,7 +13,7 @@ function slip(cart, chosen = [], guests = 1) {
   for (const { article, count } of cart.lines) text += row(`${count} ${article.name}`, show(article.price * count));
   for (const extra of extras) text += row(extra.text, show(extra.cents));
   text += `${'='.repeat(WIDTH)}\n${row('Total', show(total))}`;
-  if (guests > 1) Array(guests).fill(Math.round(total / guests)).forEach((part, i) => { text += row(`Guest ${i + 1}`, show(part)); });
+  if (guests > 1) split(total, guests).reverse().forEach((part, i) => { text += row(`Guest ${i + 1}`, show(part)); });
   return text;
 }
 
PATCH
