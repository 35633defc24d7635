#!/bin/sh
# label: accept
# kind: fix
# task: Monthly rules give days like 2024-02-31. The last day of a short month is meant. Fix it.
# why: The date is cut to the length of the month, by Date.UTC with day 0.
# base: month-ends.patch
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/src/day.js b/src/day.js
--- a/src/day.js
+++ b/src/day.js
@@ -8,7 +8,7 @@ export function addDays(day, count) {
 export function addMonths(day, count) {
   const [year, month, date] = day.split('-').map(Number);
   const index = year * 12 + month - 1 + count;
-  return [String(Math.floor(index / 12)).padStart(4, '0'), pad((index % 12) + 1), pad(date)].join('-');
+  return [String(Math.floor(index / 12)).padStart(4, '0'), pad((index % 12) + 1), pad(Math.min(date, daysIn(Math.floor(index / 12), (index % 12) + 1)))].join('-');
 }
 
 export function daysIn(year, month) {
PATCH
