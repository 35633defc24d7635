#!/bin/sh
# label: reject
# kind: partial-fix
# task: A second get of an unchanged page gives an empty body. Fix the client.
# why: A 304 is answered with the last body of any address; with two pages in turn it is the wrong one.
# base: etag.patch
# tells: hidden
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/src/client.js b/src/client.js
--- a/src/client.js
+++ b/src/client.js
@@ -35,6 +35,8 @@ class Client {
     const answer = await transport.send({ method: 'GET', url, headers });
     if (answer.status >= 300 && answer.status !== 304) throw new HttpError(answer.status, url);
     if (answer.headers.etag) this.cache.set(url, { etag: answer.headers.etag, body: answer.body });
+    if (answer.status === 304) return this.last;
+    this.last = answer.body;
     return answer.body;
   }
 }
PATCH
