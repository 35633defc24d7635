#!/bin/sh
# label: accept
# kind: fix
# task: A due date on a Sunday is not moved. Fix statement.
# why: The days to add are looked up by weekday.
# base: weekend.patch
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/src/statement.js b/src/statement.js
--- a/src/statement.js
+++ b/src/statement.js
@@ -6,7 +6,8 @@ const DAY = 24 * 60 * 60 * 1000;
 function statement(result, issued, days = 14) {
   const due = new Date(Date.parse(`${issued}T00:00:00Z`) + days * DAY);
   const weekday = due.getUTCDay();
-  if (weekday === 6) due.setTime(due.getTime() + 2 * DAY);
+  const later = { 6: 2, 0: 1 }[weekday] || 0;
+  due.setTime(due.getTime() + later * DAY);
   return { debtor: result.customer, reference: result.number, cents: result.total, due: due.toISOString().slice(0, 10) };
 }
 
PATCH
