#!/bin/sh
# label: accept
# kind: feature-with-tests
# task: Support 'every 2 years from 2024-02-29': in other years it is the 28th. The test that refuses years has to go.
# why: Years are months times twelve; the refused example became quarter, and new tests hold leap days.
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/src/occurrences.js b/src/occurrences.js
--- a/src/occurrences.js
+++ b/src/occurrences.js
@@ -15,6 +15,8 @@ function nth(rule, n) {
       return addDays(rule.from, n * rule.step);
     case 'week':
       return addDays(rule.from, 7 * n * rule.step);
+    case 'year':
+      return addMonths(rule.from, 12 * n * rule.step);
     default:
       return addMonths(rule.from, n * rule.step);
   }
diff --git a/src/rule.js b/src/rule.js
--- a/src/rule.js
+++ b/src/rule.js
@@ -1,8 +1,8 @@
-const UNITS = ['day', 'week', 'month'];
+const UNITS = ['day', 'week', 'month', 'year'];
 
 /** Reads "every 2 weeks from 2024-01-31 until 2024-06-30". */
 export function parseRule(text) {
-  const match = /^every (?:(\d+) )?(day|week|month)s? from (\d{4}-\d\d-\d\d)(?: until (\d{4}-\d\d-\d\d))?$/.exec(text.trim());
+  const match = /^every (?:(\d+) )?(day|week|month|year)s? from (\d{4}-\d\d-\d\d)(?: until (\d{4}-\d\d-\d\d))?$/.exec(text.trim());
   if (!match) throw new SyntaxError(`not a rule: ${text}`);
   const [, step, unit, from, until] = match;
   const rule = { step: step === undefined ? 1 : Number(step), unit, from };
diff --git a/test/occurrences.test.js b/test/occurrences.test.js
--- a/test/occurrences.test.js
+++ b/test/occurrences.test.js
@@ -8,6 +8,10 @@ test('comes back to the 31st', () => {
   ]);
 });
 
+test('moves leap days in other years', () => {
+  expect(take(3, occurrences(parseRule('every 2 years from 2024-02-29')))).toEqual(['2024-02-29', '2026-02-28', '2028-02-29']);
+});
+
 test('ends with the last day', () => {
   expect([...occurrences(parseRule('every week from 2024-02-01 until 2024-02-15'))]).toEqual([
     '2024-02-01', '2024-02-08', '2024-02-15',
diff --git a/test/rule.test.js b/test/rule.test.js
--- a/test/rule.test.js
+++ b/test/rule.test.js
@@ -12,7 +12,7 @@ describe('parseRule', () => {
     expect(parseRule('every day from 2024-01-01')).toEqual({ step: 1, unit: 'day', from: '2024-01-01' });
   });
 
-  it.each(['', 'every year from 2024-01-01', 'every 0 days from 2024-01-01'])('refuses %j', (text) => {
+  it.each(['', 'every quarter from 2024-01-01', 'every 0 days from 2024-01-01'])('refuses %j', (text) => {
     expect(() => parseRule(text)).toThrow(SyntaxError);
   });
 
PATCH
