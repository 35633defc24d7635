#!/bin/sh
# label: accept
# kind: feature-with-tests
# task: Headers that are folded with a tab are refused. Fix it. Add a fixture whose subject is folded by a tab.
# why: Blank and tab both continue a line; the new pair of fixtures was written by hand.
# base: fold.patch
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/src/Headers.php b/src/Headers.php
--- a/src/Headers.php
+++ b/src/Headers.php
@@ -11,7 +11,7 @@ final class Headers
     public static function parse(string $text): self
     {
         $headers = new self();
-        $unfolded = preg_replace('/\r?\n +/', ' ', $text);
+        $unfolded = preg_replace('/\r?\n[ \t]+/', ' ', $text);
         foreach (preg_split('/\r?\n/', $unfolded, -1, PREG_SPLIT_NO_EMPTY) as $line) {
             if (!preg_match('/^([!-9;-~]+):[ \t]*(.*)$/', $line, $match)) {
                 throw new ParseError("not a header: $line");
diff --git a/tests/fixtures/tabs.eml b/tests/fixtures/tabs.eml
new file mode 100644
--- /dev/null
+++ b/tests/fixtures/tabs.eml
@@ -0,0 +1,5 @@
+Subject: all of
+	these words
+	 belong together
+
+yes
diff --git a/tests/fixtures/tabs.json b/tests/fixtures/tabs.json
new file mode 100644
--- /dev/null
+++ b/tests/fixtures/tabs.json
@@ -0,0 +1 @@
+{"subject":"all of these words belong together","text":"yes\n","attachments":[]}
PATCH
