#!/bin/sh
# label: accept
# kind: fix
# task: A handler that rejects brings the server down, it should be 500.
# why: The answer is awaited within the try.
# base: rejects.patch
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/src/router.ts b/src/router.ts
--- a/src/router.ts
+++ b/src/router.ts
@@ -44,7 +44,7 @@ export class Router {
       return { status: 405, body: `allowed: ${allowed}` };
     }
     try {
-      return chosen.route.handler({ method, path, params: chosen.params, query: parseQuery(query) });
+      return await chosen.route.handler({ method, path, params: chosen.params, query: parseQuery(query) });
     } catch (error) {
       return { status: 500, body: error instanceof Error ? error.message : String(error) };
     }
PATCH
