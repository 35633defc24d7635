#!/bin/sh
# label: accept
# kind: fix
# task: Parsing a long cell takes many seconds. Make the test of speed pass.
# why: The signs of the cell are counted, they are not joined at each sign; the limit still holds.
# base: slow.patch
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/src/parse.js b/src/parse.js
--- a/src/parse.js
+++ b/src/parse.js
@@ -28,7 +28,7 @@ export class Parser {
     if (this.state === 'quoted') {
       if (sign === '"') this.state = 'quote';
       else this.cell.push(sign);
-      if (this.cell.join('').length > LIMIT) throw new CsvError('the cell is too long', this.line);
+      if (this.cell.length > LIMIT) throw new CsvError('the cell is too long', this.line);
       if (sign === '\n') this.line += 1;
       return;
     }
PATCH
