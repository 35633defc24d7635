#!/bin/sh
# label: accept
# kind: fix
# task: A bar that is open until 02:00 is closed at 23:59. Fix isOpen.
# why: A span whose end is not after its begin lasts until midnight on its own day.
# base: midnight.patch
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/src/hours.js b/src/hours.js
--- a/src/hours.js
+++ b/src/hours.js
@@ -15,7 +15,7 @@ export function isOpen(plan, day, time, before) {
   const at = minutes(time);
   const today = hoursOf(plan, day).some(([from, to]) => {
     const [begin, end] = [minutes(from), minutes(to)];
-    return at >= begin && at < end;
+    return at >= begin && (at < end || end <= begin);
   });
   const yesterday = before !== undefined && hoursOf(plan, before).some(([from, to]) => {
     const [begin, end] = [minutes(from), minutes(to)];
PATCH
