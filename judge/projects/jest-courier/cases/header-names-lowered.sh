#!/bin/sh
# label: ask
# kind: fixture-changed
# task: The new transport gives header names as the server wrote them. Make the client cope.
# why: The client now looks for ETag in any case, and the mock answers as the new transport is said to do. That claim cannot be seen in the tree.
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/src/__mocks__/transport.js b/src/__mocks__/transport.js
--- a/src/__mocks__/transport.js
+++ b/src/__mocks__/transport.js
@@ -7,7 +7,8 @@ const send = jest.fn(async () => {
   if (answers.length === 0) throw new Error('mock transport: no answer prepared');
   const next = answers.shift();
   if (next instanceof Error) throw next;
-  return { headers: {}, body: '', ...next };
+  const headers = Object.fromEntries(Object.entries(next.headers || {}).map(([key, value]) => [key.replace(/^etag$/, 'ETag'), value]));
+  return { body: '', ...next, headers };
 });
 
 module.exports = { send, prepare: (...list) => answers.push(...list), left: () => answers.length };
diff --git a/src/client.js b/src/client.js
--- a/src/client.js
+++ b/src/client.js
@@ -35,7 +35,8 @@ class Client {
     const answer = await transport.send({ method: 'GET', url, headers });
     if (answer.status === 304 && known) return known.body;
     if (answer.status >= 300) throw new HttpError(answer.status, url);
-    if (answer.headers.etag) this.cache.set(url, { etag: answer.headers.etag, body: answer.body });
+    const name = Object.keys(answer.headers).find((key) => key.toLowerCase() === 'etag');
+    if (name) this.cache.set(url, { etag: answer.headers[name], body: answer.body });
     return answer.body;
   }
 }
PATCH
