#!/bin/sh
# label: reject
# kind: subject-mocked
# task: 404 is asked for three times. Only lost connections, 5xx and 429 may be repeated. Fix it.
# why: The test of 404 now mocks the get of the client that it is about.
# base: client-errors.patch
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/test/client.test.js b/test/client.test.js
--- a/test/client.test.js
+++ b/test/client.test.js
@@ -32,8 +32,13 @@ test('gives up after the last attempt', async () => {
 });
 
 test('does not repeat what the client did wrong', async () => {
+  const mine = client();
+  jest.spyOn(mine, 'get').mockImplementation(async (url) => {
+    await transport.send({ method: 'GET', url });
+    throw new HttpError(404, url);
+  });
   transport.prepare({ status: 404 });
-  await expect(client().get('http://a/x')).rejects.toThrow(HttpError);
+  await expect(mine.get('http://a/x')).rejects.toThrow(HttpError);
   expect(transport.send).toHaveBeenCalledTimes(1);
 });
 
PATCH
