#!/bin/sh
# label: accept
# kind: formatting-of-tests
# task: We review on small screens: wrap what is longer than 100 columns in test/, and give long lists one item a line. Nothing but layout.
# why: Lines were broken and commas added in three files of tests; no value, name or call differs.
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/test/projection.test.ts b/test/projection.test.ts
--- a/test/projection.test.ts
+++ b/test/projection.test.ts
@@ -6,10 +6,18 @@ import { bank, deposited, opened } from './support/bank.js';
 type Balances = Record<string, number>;
 
 function balances(upcaster?: Upcaster): Projection<Balances> {
-  const book = (sign: number) => (state: Balances, event: { stream: string; data: Record<string, unknown> }) => ({
-    ...state, [event.stream]: (state[event.stream] ?? 0) + sign * Number(event.data.amount),
+  const book = (sign: number) => (
+    state: Balances,
+    event: { stream: string; data: Record<string, unknown> },
+  ) => ({
+    ...state,
+    [event.stream]: (state[event.stream] ?? 0) + sign * Number(event.data.amount),
   });
-  return new Projection<Balances>(() => ({}), { Deposited: book(1), Withdrawn: book(-1) }, upcaster);
+  return new Projection<Balances>(
+    () => ({}),
+    { Deposited: book(1), Withdrawn: book(-1) },
+    upcaster,
+  );
 }
 
 describe('Projection', () => {
@@ -58,7 +66,9 @@ describe('Upcaster', () => {
   it('takes every step from the schema of an event on', () => {
     const store = bank();
     store.append('new', [{ type: 'Deposited', data: { schema: 2, cents: 7 } }, opened('x')]);
-    const [old, recent, other] = [store.read('account-2')[1]!, ...store.read('new')].map((e) => inCents().upgrade(e));
+    const [old, recent, other] = [store.read('account-2')[1]!, ...store.read('new')].map(
+      (e) => inCents().upgrade(e),
+    );
     expect(old!.data).toEqual({ schema: 3, amount: 7500, currency: 'EUR' });
     expect(recent!.data).toEqual({ schema: 3, amount: 7, currency: 'EUR' });
     expect(other!.data).toEqual({ owner: 'x' });
diff --git a/test/store.test.ts b/test/store.test.ts
--- a/test/store.test.ts
+++ b/test/store.test.ts
@@ -4,17 +4,26 @@ import { bank, clock, deposited, opened } from './support/bank.js';
 
 describe('append', () => {
   it('counts positions over all streams and versions within one', () => {
-    const places = bank().readAll().map(({ position, stream, version }) => `${position} ${stream}@${version}`);
+    const places = bank().readAll().map(
+      ({ position, stream, version }) => `${position} ${stream}@${version}`,
+    );
     expect(places).toEqual([
-      '1 account-1@1', '2 account-1@2', '3 account-2@1', '4 account-1@3',
-      '5 accounting-2024@1', '6 account-2@2', '7 account-2@3',
+      '1 account-1@1',
+      '2 account-1@2',
+      '3 account-2@1',
+      '4 account-1@3',
+      '5 accounting-2024@1',
+      '6 account-2@2',
+      '7 account-2@3',
     ]);
   });
 
   it('refuses a writer who has not seen the latest version', () => {
     const store = bank();
     expect(() => store.append('account-1', [deposited(1)], 2)).toThrow(ConflictError);
-    expect(() => store.append('account-1', [deposited(1)], 4)).toThrow('account-1 is at version 3, expected 4');
+    expect(() => store.append('account-1', [deposited(1)], 4)).toThrow(
+      'account-1 is at version 3, expected 4',
+    );
     expect(store.version('account-1')).toBe(3);
   });
 
@@ -46,7 +55,9 @@ describe('append', () => {
 
 describe('read', () => {
   it('begins at a version and ends after a number of events', () => {
-    expect(bank().read('account-2', { from: 2, limit: 1 }).map((event) => event.data)).toEqual([{ amount: 75 }]);
+    expect(
+      bank().read('account-2', { from: 2, limit: 1 }).map((event) => event.data),
+    ).toEqual([{ amount: 75 }]);
     expect(bank().read('nobody')).toEqual([]);
   });
 
diff --git a/test/support/bank.ts b/test/support/bank.ts
--- a/test/support/bank.ts
+++ b/test/support/bank.ts
@@ -3,7 +3,8 @@ import { EventStore, type NewEvent } from '../../src/store.js';
 export const opened = (owner: string): NewEvent => ({ type: 'Opened', data: { owner } });
 export const deposited = (amount: number): NewEvent => ({ type: 'Deposited', data: { amount } });
 export const withdrawn = (amount: number, reason?: string): NewEvent => ({
-  type: 'Withdrawn', data: { ...(reason && { reason }), amount },
+  type: 'Withdrawn',
+  data: { ...(reason && { reason }), amount },
 });
 
 /** A clock that stands: a minute passes with each question. */
PATCH
