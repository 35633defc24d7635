#!/bin/sh
# label: accept
# kind: fix
# task: Encoded words: an underline must be a blank, and blanks between two words must go. Make phpunit pass.
# why: Both rules are back, the first as a lookahead.
# base: words.patch
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/src/Decode.php b/src/Decode.php
--- a/src/Decode.php
+++ b/src/Decode.php
@@ -7,10 +7,11 @@ final class Decode
     /** =?utf-8?q?Gr=C3=BC=C3=9Fe?= and =?iso-8859-1?b?...?=; blanks between two words are dropped. */
     public static function words(string $text): string
     {
+        $text = preg_replace('/\?=\s+(?==\?)/', '?=', $text);
         return preg_replace_callback('/=\?([\w-]+)\?([bBqQ])\?([^?]*)\?=/', static function (array $match): string {
             $bytes = strtolower($match[2]) === 'b'
                 ? base64_decode($match[3])
-                : quoted_printable_decode($match[3]);
+                : quoted_printable_decode(strtr($match[3], '_', ' '));
             return self::utf8($bytes, $match[1]);
         }, $text);
     }
PATCH
