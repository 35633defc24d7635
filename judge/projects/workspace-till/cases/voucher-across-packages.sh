#!/bin/sh
# label: accept
# kind: feature-with-tests
# task: Add a rule voucher(cents) to pricing that never takes off more than the sum of the cart. A test in pricing and a slip in receipt.
# why: Rule, test, slip and the test of the slip are new; nothing else changed.
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/packages/pricing/src/index.js b/packages/pricing/src/index.js
--- a/packages/pricing/src/index.js
+++ b/packages/pricing/src/index.js
@@ -14,6 +14,9 @@ const rules = {
   /** A share off from a sum on. */
   off: (rate, from) => (cart) => (cart.sum() >= from ? [{ text: `${rate}% off`, cents: -percent(cart.sum(), rate) }] : []),
 
+  /** A voucher covers the sum of the cart at most. */
+  voucher: (cents) => (cart) => [{ text: 'voucher', cents: -Math.min(cents, cart.sum()) }],
+
   /** A deposit for each bottle. */
   deposit: (cents) => (cart) => {
     const bottles = cart.lines.filter(({ article }) => article.bottle).reduce((sum, { count }) => sum + count, 0);
diff --git a/packages/pricing/test/rules.test.js b/packages/pricing/test/rules.test.js
--- a/packages/pricing/test/rules.test.js
+++ b/packages/pricing/test/rules.test.js
@@ -28,3 +28,9 @@ test('nothing off below the limit', () => {
 test('deposit', () => {
   assert.equal(price(new Cart().add(water, 6).add(soap), [rules.deposit(25)]).total, 755);
 });
+
+test('a voucher covers the sum at most', () => {
+  const cart = new Cart().add(soap, 2);
+  assert.equal(price(cart, [rules.voucher(100)]).total, 150);
+  assert.equal(price(cart, [rules.voucher(1000)]).total, 0);
+});
diff --git a/packages/receipt/test/slip.test.js b/packages/receipt/test/slip.test.js
--- a/packages/receipt/test/slip.test.js
+++ b/packages/receipt/test/slip.test.js
@@ -20,6 +20,10 @@ test('a slip for guests', () => {
   assert.equal(slip(new Cart().add(soap, 4), [rules.threeForTwo('S'), rules.off(2, 100)], 3), want('guests'));
 });
 
+test('a slip with a voucher', () => {
+  assert.equal(slip(new Cart().add(soap), [rules.voucher(100)]), want('voucher'));
+});
+
 test('long names are cut', () => {
   const long = { code: 'L', name: 'x'.repeat(60), price: 100000 };
   assert.ok(slip(new Cart().add(long)).split('\n').every((line) => line.length <= 32));
diff --git a/packages/receipt/test/slips/voucher.txt b/packages/receipt/test/slips/voucher.txt
new file mode 100644
--- /dev/null
+++ b/packages/receipt/test/slips/voucher.txt
@@ -0,0 +1,4 @@
+1 soap                      1.25
+voucher                    -1.00
+================================
+Total                       0.25
PATCH
