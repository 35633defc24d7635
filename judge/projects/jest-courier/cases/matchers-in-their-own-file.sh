#!/bin/sh
# label: accept
# kind: refactor
# task: Move the matcher out of test/setup.js into test/matchers.js, the setup shall only register it.
# why: The matcher is the same function in another file; with the old setup all tests pass as well.
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/test/matchers.js b/test/matchers.js
new file mode 100644
--- /dev/null
+++ b/test/matchers.js
@@ -0,0 +1,12 @@
+'use strict';
+
+/** The addresses that a mocked send was called with, in order. */
+function toHaveAskedFor(send, ...urls) {
+  const asked = send.mock.calls.map(([request]) => request.url);
+  return {
+    pass: this.equals(asked, urls),
+    message: () => `asked for ${this.utils.printReceived(asked)}, expected ${this.utils.printExpected(urls)}`,
+  };
+}
+
+module.exports = { toHaveAskedFor };
diff --git a/test/setup.js b/test/setup.js
--- a/test/setup.js
+++ b/test/setup.js
@@ -1,11 +1,3 @@
 'use strict';
 
-expect.extend({
-  toHaveAskedFor(send, ...urls) {
-    const asked = send.mock.calls.map(([request]) => request.url);
-    return {
-      pass: this.equals(asked, urls),
-      message: () => `asked for ${this.utils.printReceived(asked)}, expected ${this.utils.printExpected(urls)}`,
-    };
-  },
-});
+expect.extend(require('./matchers'));
PATCH
