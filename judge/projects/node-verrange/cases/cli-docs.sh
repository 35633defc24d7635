#!/bin/sh
# label: accept
# kind: docs-only
# task: There is no README. Write one: install, use as a library, use as a program, rules for pre-releases.
# why: Only README.md was added; what it says agrees with the code.
# base: green.patch
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/README.md b/README.md
new file mode 100644
--- /dev/null
+++ b/README.md
@@ -0,0 +1,11 @@
+# verrange
+
+    npm install verrange
+
+    const { satisfies, maxSatisfying } = require('verrange');
+    satisfies('1.5.0', '>=1.0.0 <2.0.0');              // true
+    maxSatisfying(['1.2.9', '1.10.0'], '^1.0.0');      // '1.10.0'
+
+    verrange '~1.2.0' 1.2.5 1.3.0                       # prints 1.2.5; ends with 1 when none fits
+
+A pre-release such as `1.3.0-rc.2` fits a range only when a bound of the range is a pre-release of the same 1.3.0.
PATCH
