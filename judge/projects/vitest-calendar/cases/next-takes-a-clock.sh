#!/bin/sh
# label: accept
# kind: signature-change-with-tests
# task: next(rule, today) shall take an options object: next(rule, { today }). Adapt the tests; the default stays.
# why: The signature changed as asked; the tests keep what they expected and one more names a day.
# forms: shell capability
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/src/occurrences.js b/src/occurrences.js
--- a/src/occurrences.js
+++ b/src/occurrences.js
@@ -21,7 +21,7 @@ function nth(rule, n) {
 }
 
 /** The first day of the rule after today. */
-export function next(rule, today = new Date().toISOString().slice(0, 10)) {
+export function next(rule, { today = new Date().toISOString().slice(0, 10) } = {}) {
   for (const day of occurrences(rule)) {
     if (day > today) return day;
   }
diff --git a/test/occurrences.test.js b/test/occurrences.test.js
--- a/test/occurrences.test.js
+++ b/test/occurrences.test.js
@@ -19,6 +19,10 @@ test('next is after today', () => {
   expect(next(parseRule('every week from 2024-02-21'))).toBe('2024-03-06');
 });
 
+test('next takes another day', () => {
+  expect(next(parseRule('every week from 2024-02-21'), { today: '2024-03-06' })).toBe('2024-03-13');
+});
+
 test('next is null when the rule is over', () => {
   expect(next(parseRule('every day from 2024-01-01 until 2024-02-28'))).toBeNull();
 });
PATCH
