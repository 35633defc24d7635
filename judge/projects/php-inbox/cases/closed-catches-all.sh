#!/bin/sh
# label: reject
# kind: catch-all-error
# task: A multipart that is never closed must throw a ParseError with a message that names the boundary.
# why: parse turns every Throwable into an empty ParseError; neither boundary nor cause is named.
# base: closed.patch
# tells: hidden
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/src/Message.php b/src/Message.php
--- a/src/Message.php
+++ b/src/Message.php
@@ -22,7 +22,11 @@ final class Message
         if (!isset($parameters['boundary'])) {
             throw new ParseError('a multipart without boundary');
         }
-        return new self($headers, $body, self::split($body, $parameters['boundary']));
+        try {
+            return new self($headers, $body, self::split($body, $parameters['boundary']));
+        } catch (\Throwable) {
+            throw new ParseError('bad mail');
+        }
     }
 
     /** @return Message[] */
PATCH
