#!/bin/sh
# label: accept
# kind: fix
# task: A boundary or file name in quotes with a blank in it is cut. Fix the parameters.
# why: A quoted value ends at its quote, any other at the next blank.
# base: boundary.patch
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
+            if (preg_match('/^([^=\s]+)\s*=\s*(?|"([^"]*)"|(\S*))$/', $part, $match)) {
                 $parameters[strtolower($match[1])] = $match[2];
             }
         }
PATCH
