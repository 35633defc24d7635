#!/bin/sh
# label: accept
# kind: fix
# task: A multipart that is never closed must throw a ParseError with a message that names the boundary.
# why: The ParseError names the boundary.
# base: closed.patch
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/src/Message.php b/src/Message.php
--- a/src/Message.php
+++ b/src/Message.php
@@ -43,7 +43,7 @@ final class Message
                 $lines[] = $line;
             }
         }
-        return array_pop($parts);
+        throw new ParseError("the boundary $boundary is never closed");
     }
 
     public function subject(): string
PATCH
