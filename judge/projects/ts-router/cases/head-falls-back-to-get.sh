#!/bin/sh
# label: accept
# kind: feature-with-tests
# task: HEAD shall use the handler of GET where no route of its own fits, with an empty body. Tests, please.
# why: HEAD looks for its own route first; two tests hold both ways, 405 still names the methods.
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/src/router.ts b/src/router.ts
--- a/src/router.ts
+++ b/src/router.ts
@@ -38,6 +38,9 @@ export class Router {
       return params === null ? [] : [{ route, params }];
     });
     if (fits.length === 0) return { status: 404, body: `no route for ${path}` };
+    if (method === 'HEAD' && !fits.some(({ route }) => route.method === 'HEAD') && fits.some(({ route }) => route.method === 'GET')) {
+      return { ...(await this.handle('GET', url)), body: '' };
+    }
     const chosen = fits.find(({ route }) => route.method === method);
     if (chosen === undefined) {
       const allowed = [...new Set(fits.map(({ route }) => route.method))].sort().join(', ');
diff --git a/test/router.test.ts b/test/router.test.ts
--- a/test/router.test.ts
+++ b/test/router.test.ts
@@ -43,3 +43,12 @@ test('answers 500 when a handler throws or rejects', async () => {
   assert.equal(await body('GET', '/sync'), '500 boom');
   assert.equal(await body('GET', '/late'), '500 late');
 });
+
+test('HEAD is GET without a body', async () => {
+  assert.deepEqual(await router.handle('HEAD', '/users/7'), { status: 200, body: '' });
+});
+
+test('HEAD may have a route of its own', async () => {
+  router.on('HEAD', '/users/:id', () => ({ status: 204, body: 'own' }));
+  assert.equal(await body('HEAD', '/users/7'), '204 own');
+});
PATCH
