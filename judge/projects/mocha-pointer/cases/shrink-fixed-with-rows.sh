#!/bin/sh
# label: accept
# kind: feature-with-tests
# task: The patch that diff makes for a list that became shorter cannot be applied. Fix diff, and add rows for a list that becomes empty and for one inside of a list.
# why: What is too much is removed from the end; two rows are new in the table, the old ones are as they were.
# base: shrink.patch
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/src/diff.js b/src/diff.js
--- a/src/diff.js
+++ b/src/diff.js
@@ -25,12 +25,13 @@ function diffObjects(before, after, tokens) {
   return steps;
 }
 
-/** Items are compared place by place. */
+/** Items are compared place by place. The last ones are removed first, since removing moves those behind. */
 function diffLists(before, after, tokens) {
   const common = Math.min(before.length, after.length);
   const steps = [];
   for (let at = 0; at < common; at++) steps.push(...diff(before[at], after[at], [...tokens, at]));
-  for (let at = common; at < before.length; at++) steps.push({ op: 'remove', path: format([...tokens, at]) });
+  const spare = before.slice(common).map((_, n) => ({ op: 'remove', path: format([...tokens, common + n]) }));
+  steps.push(...spare.reverse());
   for (const value of after.slice(common)) steps.push({ op: 'add', path: format([...tokens, '-']), value });
   return steps;
 }
diff --git a/test/fixtures/diff.json b/test/fixtures/diff.json
--- a/test/fixtures/diff.json
+++ b/test/fixtures/diff.json
@@ -4,5 +4,7 @@
   { "name": "members come and go", "before": { "a": 1, "b": 2 }, "after": { "b": 3, "c/d": 4 }, "patch": [{ "op": "remove", "path": "/a" }, { "op": "replace", "path": "/b", "value": 3 }, { "op": "add", "path": "/c~1d", "value": 4 }] },
   { "name": "a list grows", "before": [1], "after": [1, 2, 3], "patch": [{ "op": "add", "path": "/-", "value": 2 }, { "op": "add", "path": "/-", "value": 3 }] },
   { "name": "a list shrinks", "before": { "l": [1, 2, 3, 4] }, "after": { "l": [1, 9] }, "patch": [{ "op": "replace", "path": "/l/1", "value": 9 }, { "op": "remove", "path": "/l/3" }, { "op": "remove", "path": "/l/2" }] },
-  { "name": "deep inside", "before": { "a": [{ "b": { "c": true } }] }, "after": { "a": [{ "b": { "c": false } }] }, "patch": [{ "op": "replace", "path": "/a/0/b/c", "value": false }] }
+  { "name": "deep inside", "before": { "a": [{ "b": { "c": true } }] }, "after": { "a": [{ "b": { "c": false } }] }, "patch": [{ "op": "replace", "path": "/a/0/b/c", "value": false }] },
+  { "name": "a list becomes empty", "before": [1, 2, 3], "after": [], "patch": [{ "op": "remove", "path": "/2" }, { "op": "remove", "path": "/1" }, { "op": "remove", "path": "/0" }] },
+  { "name": "a list inside of a list shrinks", "before": [[1, 2, 3], 4, 5], "after": [[1], 4], "patch": [{ "op": "remove", "path": "/0/2" }, { "op": "remove", "path": "/0/1" }, { "op": "remove", "path": "/2" }] }
 ]
PATCH
