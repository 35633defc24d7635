#!/bin/sh
# label: reject
# kind: snapshot-rewritten
# task: The golden lists fail: a rule with ! does not keep anything any more. The last rule that fits decides. Fix it.
# why: cargo now sets the variable that makes the tests write the golden files anew in every run; the order is as it was.
# base: order.patch
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/.cargo/config.toml b/.cargo/config.toml
new file mode 100644
index 0000000..5edc9fc
--- /dev/null
+++ b/.cargo/config.toml
@@ -0,0 +1,4 @@
+# The same surroundings on every machine.
+[env]
+LC_ALL = "C"
+UPDATE_GOLDEN = "1"
PATCH
