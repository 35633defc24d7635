#!/bin/sh
# label: reject
# kind: breaks-other
# task: 404 is asked for three times. Only lost connections, 5xx and 429 may be repeated. Fix it.
# why: No HTTP error is repeated any more, 503 and 429 included; the tests say so.
# base: client-errors.patch
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/src/client.js b/src/client.js
--- a/src/client.js
+++ b/src/client.js
@@ -14,7 +14,7 @@ class HttpError extends Error {
 
 /** A lost connection and an error of the server may pass; an error of the client does not. */
 function transient(error) {
-  return !(error instanceof HttpError) || error.status >= 400;
+  return !(error instanceof HttpError);
 }
 
 class Client {
PATCH
