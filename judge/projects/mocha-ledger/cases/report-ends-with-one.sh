#!/bin/sh
# label: accept
# kind: feature
# task: bin/report.js shall end with 1 and a word on stderr when the file has no entries.
# why: The program ends the process itself, as it does for wrong usage; the library is untouched.
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/bin/report.js b/bin/report.js
--- a/bin/report.js
+++ b/bin/report.js
@@ -8,4 +8,9 @@ if (!file) {
   console.error('usage: report FILE');
   process.exit(2);
 }
-process.stdout.write(renderTable(monthly(load(file))));
+const ledger = load(file);
+if (ledger.entries.length === 0) {
+  console.error(`${file}: no entries`);
+  process.exit(1);
+}
+process.stdout.write(renderTable(monthly(ledger)));
PATCH
