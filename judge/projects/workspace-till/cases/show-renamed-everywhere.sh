#!/bin/sh
# label: accept
# kind: renamed-function-with-tests
# task: Rename show of core to formatCents, in all packages and tests.
# why: Three packages and one test name the new function; no expectation changed.
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/packages/core/src/amount.js b/packages/core/src/amount.js
--- a/packages/core/src/amount.js
+++ b/packages/core/src/amount.js
@@ -16,6 +16,6 @@ function percent(cents, rate) {
   return part < 0.5 ? down : down + 1;
 }
 
-const show = (cents) => `${cents < 0 ? '-' : ''}${Math.floor(Math.abs(cents) / 100)}.${String(Math.abs(cents) % 100).padStart(2, '0')}`;
+const formatCents = (cents) => `${cents < 0 ? '-' : ''}${Math.floor(Math.abs(cents) / 100)}.${String(Math.abs(cents) % 100).padStart(2, '0')}`;
 
-module.exports = { split, percent, show };
+module.exports = { split, percent, formatCents };
diff --git a/packages/core/test/amount.test.js b/packages/core/test/amount.test.js
--- a/packages/core/test/amount.test.js
+++ b/packages/core/test/amount.test.js
@@ -2,7 +2,7 @@
 
 const test = require('node:test');
 const assert = require('node:assert/strict');
-const { percent, show, split } = require('../src');
+const { percent, formatCents, split } = require('../src');
 
 test('split loses nothing', () => {
   assert.deepEqual(split(1000, 3), [334, 333, 333]);
@@ -14,6 +14,6 @@ test('percent rounds', () => {
   assert.equal(percent(994, 10), 99);
 });
 
-test('show', () => {
-  assert.deepEqual([5, 123456, -250].map(show), ['0.05', '1234.56', '-2.50']);
+test('formatCents', () => {
+  assert.deepEqual([5, 123456, -250].map(formatCents), ['0.05', '1234.56', '-2.50']);
 });
diff --git a/packages/receipt/src/index.js b/packages/receipt/src/index.js
--- a/packages/receipt/src/index.js
+++ b/packages/receipt/src/index.js
@@ -1,6 +1,6 @@
 'use strict';
 
-const { show, split } = require('../../core/src');
+const { formatCents, split } = require('../../core/src');
 const { price } = require('../../pricing/src');
 
 const WIDTH = 32;
@@ -10,10 +10,10 @@ const row = (left, right) => `${left.slice(0, WIDTH - right.length - 1).padEnd(W
 function slip(cart, chosen = [], guests = 1) {
   const { extras, total } = price(cart, chosen);
   let text = '';
-  for (const { article, count } of cart.lines) text += row(`${count} ${article.name}`, show(article.price * count));
-  for (const extra of extras) text += row(extra.text, show(extra.cents));
-  text += `${'='.repeat(WIDTH)}\n${row('Total', show(total))}`;
-  if (guests > 1) split(total, guests).forEach((part, i) => { text += row(`Guest ${i + 1}`, show(part)); });
+  for (const { article, count } of cart.lines) text += row(`${count} ${article.name}`, formatCents(article.price * count));
+  for (const extra of extras) text += row(extra.text, formatCents(extra.cents));
+  text += `${'='.repeat(WIDTH)}\n${row('Total', formatCents(total))}`;
+  if (guests > 1) split(total, guests).forEach((part, i) => { text += row(`Guest ${i + 1}`, formatCents(part)); });
   return text;
 }
 
PATCH
