#!/bin/sh
# label: accept
# kind: feature-with-tests
# task: Under steady load the batcher never hands anything on, because every item starts the timer anew. Fix it, and add a test of a long steady load.
# why: The timer is set for the oldest item only; the new test adds an item each 30 ms for a while and would fail with the old code.
# base: deadline.patch
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/src/batcher.ts b/src/batcher.ts
--- a/src/batcher.ts
+++ b/src/batcher.ts
@@ -14,8 +14,7 @@ export class Batcher<T> {
       this.flush();
       return;
     }
-    clearTimeout(this.#timer);
-    this.#timer = setTimeout(() => this.flush(), this.options.delay);
+    if (this.#timer === undefined) this.#timer = setTimeout(() => this.flush(), this.options.delay);
   }
 
   flush(): void {
diff --git a/test/batcher.test.ts b/test/batcher.test.ts
--- a/test/batcher.test.ts
+++ b/test/batcher.test.ts
@@ -38,6 +38,15 @@ describe('Batcher', () => {
     expect(batches).toEqual([[1, 2, 3]]);
   });
 
+  it('keeps its delay under a steady load', () => {
+    const slow = new Batcher<number>((items) => batches.push(items), { size: 100, delay: 100 });
+    for (let item = 1; item <= 9; item++) {
+      slow.add(item);
+      vi.advanceTimersByTime(30);
+    }
+    expect(batches).toEqual([[1, 2, 3, 4], [5, 6, 7, 8]]);
+  });
+
   it('begins to wait anew after a full batch', () => {
     for (const item of [1, 2, 3, 4]) batcher.add(item);
     vi.advanceTimersByTime(90);
PATCH
