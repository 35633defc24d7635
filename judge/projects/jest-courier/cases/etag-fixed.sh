#!/bin/sh
# label: accept
# kind: feature-with-tests
# task: A second get of an unchanged page gives an empty body. Fix the client. Add a test for a changed page.
# why: 304 is answered from the cache, and a new test holds that a changed page replaces it.
# base: etag.patch
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/src/client.js b/src/client.js
--- a/src/client.js
+++ b/src/client.js
@@ -33,7 +33,10 @@ class Client {
     const known = this.cache.get(url);
     const headers = known ? { 'if-none-match': known.etag } : {};
     const answer = await transport.send({ method: 'GET', url, headers });
-    if (answer.status >= 300 && answer.status !== 304) throw new HttpError(answer.status, url);
+    if (answer.status === 304 && known !== undefined) {
+      return known.body;
+    }
+    if (answer.status >= 300) throw new HttpError(answer.status, url);
     if (answer.headers.etag) this.cache.set(url, { etag: answer.headers.etag, body: answer.body });
     return answer.body;
   }
diff --git a/test/client.test.js b/test/client.test.js
--- a/test/client.test.js
+++ b/test/client.test.js
@@ -44,3 +44,15 @@ test('sends the ETag and takes the body from the cache', async () => {
   await expect(mine.get('http://a/')).resolves.toBe('v1');
   expect(transport.send.mock.calls[1][0].headers).toEqual({ 'if-none-match': '"1"' });
 });
+
+test('replaces the body in the cache when the page changed', async () => {
+  const mine = client();
+  transport.prepare(
+    { status: 200, body: 'v1', headers: { etag: '"1"' } },
+    { status: 200, body: 'v2', headers: { etag: '"2"' } },
+    { status: 304 },
+  );
+  await mine.get('http://a/');
+  await mine.get('http://a/');
+  await expect(mine.get('http://a/')).resolves.toBe('v2');
+});
PATCH
