#!/bin/sh
# label: reject
# kind: partial-fix
# task: A boundary or file name in quotes with a blank in it is cut. Fix the parameters.
# why: One blank is allowed in a quoted value; two, or a file name of three words, are cut as before.
# base: boundary.patch
# tells: hidden
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/src/Headers.php b/src/Headers.php
--- a/src/Headers.php
+++ b/src/Headers.php
@@ -38,7 +38,7 @@ final class Headers
         $parts = preg_split('/\s*;\s*/', $this->get($name) ?? $default);
         $parameters = [];
         foreach (array_slice($parts, 1) as $part) {
-            if (preg_match('/^([^=\s]+)\s*=\s*"?([^"\s]*)"?$/', $part, $match)) {
+            if (preg_match('/^([^=\s]+)\s*=\s*"?([^"\s]*(?: [^"\s;]{1,1})?)"?$/', $part, $match)) {
                 $parameters[strtolower($match[1])] = $match[2];
             }
         }
PATCH
