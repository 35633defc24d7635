#!/bin/sh
# label: accept
# kind: signature-change-with-tests
# task: append shall also take one event that is not in a list. Lists must work as before. Use it in the tests where the list has one event.
# why: One event becomes a list of one; the tests that wrote lists of one were changed, those with two or more still hold the list.
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/src/store.ts b/src/store.ts
--- a/src/store.ts
+++ b/src/store.ts
@@ -35,13 +35,14 @@ export class EventStore {
     return this.#versions.get(stream) ?? 0;
   }
 
-  /** Appends all events or none, and returns the new version of the stream. */
-  append(stream: string, events: NewEvent[], expected: Expected = 'any'): number {
+  /** Appends one event, or all of a list or none, and returns the new version of the stream. */
+  append(stream: string, events: NewEvent | NewEvent[], expected: Expected = 'any'): number {
+    const list = Array.isArray(events) ? events : [events];
     const actual = this.version(stream);
     const fits = expected === 'any' || (expected === 'none' ? actual === 0 : actual === expected);
     if (!fits) throw new ConflictError(stream, expected, actual);
     const at = this.#now();
-    const recorded = events.map((event, index) => ({
+    const recorded = list.map((event, index) => ({
       position: this.#log.length + index + 1,
       stream,
       version: actual + index + 1,
@@ -50,8 +51,8 @@ export class EventStore {
       at,
     }));
     this.#log.push(...recorded);
-    this.#versions.set(stream, actual + events.length);
-    return actual + events.length;
+    this.#versions.set(stream, actual + list.length);
+    return actual + list.length;
   }
 
   /** The events of one stream, from a version on. */
diff --git a/test/projection.test.ts b/test/projection.test.ts
--- a/test/projection.test.ts
+++ b/test/projection.test.ts
@@ -24,7 +24,7 @@ describe('Projection', () => {
     const store = bank();
     const projection = balances();
     projection.catchUp(store);
-    store.append('account-2', [deposited(11)]);
+    store.append('account-2', deposited(11));
     expect(projection.catchUp(store)).toBe(1);
     expect(projection.catchUp(store)).toBe(0);
     expect(projection.state['account-2']).toBe(111);
diff --git a/test/store.test.ts b/test/store.test.ts
--- a/test/store.test.ts
+++ b/test/store.test.ts
@@ -13,32 +13,32 @@ describe('append', () => {
 
   it('refuses a writer who has not seen the latest version', () => {
     const store = bank();
-    expect(() => store.append('account-1', [deposited(1)], 2)).toThrow(ConflictError);
-    expect(() => store.append('account-1', [deposited(1)], 4)).toThrow('account-1 is at version 3, expected 4');
+    expect(() => store.append('account-1', deposited(1), 2)).toThrow(ConflictError);
+    expect(() => store.append('account-1', deposited(1), 4)).toThrow('account-1 is at version 3, expected 4');
     expect(store.version('account-1')).toBe(3);
   });
 
   it('refuses to create a stream twice', () => {
     const store = bank();
-    expect(() => store.append('account-1', [opened('mill')], 'none')).toThrow(ConflictError);
-    expect(store.append('account-3', [opened('mill')], 'none')).toBe(1);
+    expect(() => store.append('account-1', opened('mill'), 'none')).toThrow(ConflictError);
+    expect(store.append('account-3', opened('mill'), 'none')).toBe(1);
   });
 
   it('asks nothing of a writer who does not care', () => {
-    expect(bank().append('account-1', [deposited(1)])).toBe(4);
+    expect(bank().append('account-1', deposited(1))).toBe(4);
   });
 
   it('gives the events of one call the same time', () => {
     const store = new EventStore(clock(0));
     store.append('a', [opened('x'), deposited(1)]);
-    store.append('a', [deposited(2)]);
+    store.append('a', deposited(2));
     expect(store.read('a').map((event) => event.at)).toEqual([0, 0, 60_000]);
   });
 
   it('keeps a copy of the data', () => {
     const store = new EventStore();
     const event = deposited(1);
-    store.append('a', [event]);
+    store.append('a', event);
     event.data!.amount = 1000;
     expect(store.read('a')[0]!.data).toEqual({ amount: 1 });
   });
diff --git a/test/support/bank.ts b/test/support/bank.ts
--- a/test/support/bank.ts
+++ b/test/support/bank.ts
@@ -16,9 +16,9 @@ export function clock(start = Date.UTC(2024, 4, 6, 8)): () => number {
 export function bank(): EventStore {
   const store = new EventStore(clock());
   store.append('account-1', [opened('harbour'), deposited(500)], 'none');
-  store.append('account-2', [opened('mill')], 'none');
+  store.append('account-2', opened('mill'), 'none');
   store.append('account-1', [withdrawn(120, 'rope')], 2);
-  store.append('accounting-2024', [{ type: 'YearClosed' }]);
+  store.append('accounting-2024', { type: 'YearClosed' });
   store.append('account-2', [deposited(75), deposited(25)], 1);
   return store;
 }
PATCH
