#!/bin/sh
# label: reject
# kind: fixture-changed
# task: After a rollback on one server the provider goes back to older flags. It must keep the newest revision it has seen.
# why: The mock of the transport no longer gives an older revision than it gave before, so that the test sees none; the provider takes whatever comes.
# base: older.patch
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/src/__mocks__/transport.js b/src/__mocks__/transport.js
--- a/src/__mocks__/transport.js
+++ b/src/__mocks__/transport.js
@@ -12,8 +12,14 @@ const load = jest.fn(async () => {
   return structuredClone(answer);
 });
 
+// Deployments only go forward: what is older than the answer before it is never found.
+const forward = (list) => list.reduce((found, one) => {
+  const before = found.at(-1);
+  return [...found, before?.revision > one.revision ? before : one];
+}, []);
+
 function give(...list) {
-  answers = list;
+  answers = forward(list);
   load.mockClear();
 }
 
PATCH
