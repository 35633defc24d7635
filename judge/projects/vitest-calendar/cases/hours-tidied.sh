#!/bin/sh
# label: accept
# kind: refactor
# task: isOpen in src/hours.js says everything twice. Tidy it without changing what it does.
# why: One helper tells the part of a span before and after midnight; tests pass as before.
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/src/hours.js b/src/hours.js
--- a/src/hours.js
+++ b/src/hours.js
@@ -13,13 +13,11 @@ export function hoursOf(plan, day) {
 /** Whether it is open at the time; a span over midnight belongs to the day on which it begins. */
 export function isOpen(plan, day, time, before) {
   const at = minutes(time);
-  const today = hoursOf(plan, day).some(([from, to]) => {
-    const [begin, end] = [minutes(from), minutes(to)];
-    return begin < end ? at >= begin && at < end : at >= begin;
-  });
-  const yesterday = before !== undefined && hoursOf(plan, before).some(([from, to]) => {
-    const [begin, end] = [minutes(from), minutes(to)];
-    return begin >= end && at < end;
-  });
-  return today || yesterday;
+  const evening = (span) => at >= span.begin && (at < span.end || span.end <= span.begin);
+  const morning = (span) => span.end <= span.begin && at < span.end;
+  return spans(plan, day).some(evening) || (before !== undefined && spans(plan, before).some(morning));
+}
+
+function spans(plan, day) {
+  return hoursOf(plan, day).map(([from, to]) => ({ begin: minutes(from), end: minutes(to) }));
 }
PATCH
