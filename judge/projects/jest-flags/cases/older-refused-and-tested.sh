#!/bin/sh
# label: accept
# kind: feature-with-tests
# task: After a rollback on one server the provider goes back to older flags. It must keep the newest revision it has seen. Add a test for a revision that comes again with other content.
# why: Only a higher revision replaces what is there; the new test holds that the same revision does not.
# base: older.patch
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/src/provider.js b/src/provider.js
--- a/src/provider.js
+++ b/src/provider.js
@@ -28,8 +28,9 @@ class Provider {
 
   async #load() {
     try {
-      this.#current = await transport.load(this.#source);
+      const found = await transport.load(this.#source);
       this.problem = null;
+      if (found.revision > (this.revision ?? -Infinity)) this.#current = found;
     } catch (error) {
       this.problem = error;
       if (this.#current === null) throw error;
diff --git a/test/provider.test.js b/test/provider.test.js
--- a/test/provider.test.js
+++ b/test/provider.test.js
@@ -36,6 +36,14 @@ describe('Provider', () => {
     expect((await provider.evaluate('search', person())).value).toBe('fast');
   });
 
+  test('stays with what it has when a revision comes again', async () => {
+    transport.give(set(5), set(5, on));
+    const provider = new Provider('flags.json');
+    await provider.refresh();
+    await provider.refresh();
+    expect((await provider.evaluate('search', person())).value).toBe('classic');
+  });
+
   test('keeps what was good when loading fails', async () => {
     transport.give(set(1), new Error('disk'), set(2));
     const provider = new Provider('flags.json');
PATCH
