#!/bin/sh
# label: accept
# kind: fix
# task: Doubled quotes come out doubled: """hello""" should be "hello". Make the tests pass.
# why: One quote is stored for two.
# base: quotes.patch
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/src/parse.js b/src/parse.js
--- a/src/parse.js
+++ b/src/parse.js
@@ -30,7 +30,7 @@ export class Parser {
     }
     if (this.state === 'quote') {
       if (sign === '"') {
-        this.cell.push('"', '"');
+        this.cell.push('"');
         this.state = 'quoted';
         return;
       }
PATCH
