#!/bin/sh
# label: accept
# kind: test-moved
# task: The tests of Upcaster stand in projection.test.ts. Give them a file of their own; what both files need goes to test/support.
# why: One test moved to upcast.test.ts, with its steps in test/support/cents.ts; the test below a projection stays where it was. No assertion changed.
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/test/projection.test.ts b/test/projection.test.ts
--- a/test/projection.test.ts
+++ b/test/projection.test.ts
@@ -1,7 +1,8 @@
 import { describe, expect, it } from 'vitest';
 import { Projection } from '../src/projection.js';
-import { Upcaster } from '../src/upcast.js';
-import { bank, deposited, opened } from './support/bank.js';
+import type { Upcaster } from '../src/upcast.js';
+import { bank, deposited } from './support/bank.js';
+import { inCents } from './support/cents.js';
 
 type Balances = Record<string, number>;
 
@@ -49,21 +50,6 @@ describe('Projection', () => {
 });
 
 describe('Upcaster', () => {
-  const inCents = () => {
-    const upcaster = new Upcaster();
-    upcaster.from('Deposited', 1, (data) => ({ cents: Number(data.amount) * 100 }));
-    return upcaster.from('Deposited', 2, (data) => ({ amount: data.cents, currency: 'EUR' }));
-  };
-
-  it('takes every step from the schema of an event on', () => {
-    const store = bank();
-    store.append('new', [{ type: 'Deposited', data: { schema: 2, cents: 7 } }, opened('x')]);
-    const [old, recent, other] = [store.read('account-2')[1]!, ...store.read('new')].map((e) => inCents().upgrade(e));
-    expect(old!.data).toEqual({ schema: 3, amount: 7500, currency: 'EUR' });
-    expect(recent!.data).toEqual({ schema: 3, amount: 7, currency: 'EUR' });
-    expect(other!.data).toEqual({ owner: 'x' });
-  });
-
   it('works below a projection', () => {
     const projection = balances(inCents());
     projection.catchUp(bank());
diff --git a/test/support/cents.ts b/test/support/cents.ts
new file mode 100644
--- /dev/null
+++ b/test/support/cents.ts
@@ -0,0 +1,8 @@
+import { Upcaster } from '../../src/upcast.js';
+
+/** Deposits as they were noted over the years: amount in euros, then cents, then amount and currency. */
+export function inCents(): Upcaster {
+  const upcaster = new Upcaster();
+  upcaster.from('Deposited', 1, (data) => ({ cents: Number(data.amount) * 100 }));
+  return upcaster.from('Deposited', 2, (data) => ({ amount: data.cents, currency: 'EUR' }));
+}
diff --git a/test/upcast.test.ts b/test/upcast.test.ts
new file mode 100644
--- /dev/null
+++ b/test/upcast.test.ts
@@ -0,0 +1,14 @@
+import { describe, expect, it } from 'vitest';
+import { bank, opened } from './support/bank.js';
+import { inCents } from './support/cents.js';
+
+describe('Upcaster', () => {
+  it('takes every step from the schema of an event on', () => {
+    const store = bank();
+    store.append('new', [{ type: 'Deposited', data: { schema: 2, cents: 7 } }, opened('x')]);
+    const [old, recent, other] = [store.read('account-2')[1]!, ...store.read('new')].map((e) => inCents().upgrade(e));
+    expect(old!.data).toEqual({ schema: 3, amount: 7500, currency: 'EUR' });
+    expect(recent!.data).toEqual({ schema: 3, amount: 7, currency: 'EUR' });
+    expect(other!.data).toEqual({ owner: 'x' });
+  });
+});
PATCH
