#!/bin/sh
# label: accept
# kind: fix
# task: Two writers overwrite one another: append takes a version that is out of date, and creates streams that exist. Fix the store.
# why: What the writer expects is compared with what is there, in a small function; tests are untouched.
# base: conflict.patch
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/src/store.ts b/src/store.ts
--- a/src/store.ts
+++ b/src/store.ts
@@ -22,6 +22,11 @@ export class ConflictError extends Error {
   }
 }
 
+function agrees(expected: Expected, actual: number): boolean {
+  if (expected === 'any') return true;
+  return actual === (expected === 'none' ? 0 : expected);
+}
+
 export class EventStore {
   readonly #log: Recorded[] = [];
   readonly #versions = new Map<string, number>();
@@ -38,8 +43,7 @@ export class EventStore {
   /** Appends all events or none, and returns the new version of the stream. */
   append(stream: string, events: NewEvent[], expected: Expected = 'any'): number {
     const actual = this.version(stream);
-    const fits = typeof expected === 'string' || actual >= expected;
-    if (!fits) throw new ConflictError(stream, expected, actual);
+    if (!agrees(expected, actual)) throw new ConflictError(stream, expected, actual);
     const at = this.#now();
     const recorded = events.map((event, index) => ({
       position: this.#log.length + index + 1,
PATCH
