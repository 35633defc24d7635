#!/bin/sh
# label: ask
# kind: snapshot-updated-rightly
# task: "country is none of DE" reads badly. With one value say "is" and "is not". Update the snapshots.
# why: Code and three snapshots changed together, as asked; the old snapshots must fail now, and whether the new ones say what was meant a person has to look at.
# forms: shell capability steps
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/src/explain.js b/src/explain.js
--- a/src/explain.js
+++ b/src/explain.js
@@ -4,8 +4,12 @@ const { evaluate } = require('./evaluate');
 
 const WORDS = { in: 'is one of', notIn: 'is none of', startsWith: 'begins with', atLeast: 'is at least', below: 'is below' };
 
+const ALONE = { in: 'is', notIn: 'is not' };
+
 function condition({ field, operator, value }) {
-  return `${field} ${WORDS[operator]} ${[].concat(value).join(', ')}`;
+  const values = [].concat(value);
+  const words = (values.length === 1 && ALONE[operator]) || WORDS[operator];
+  return `${field} ${words} ${values.join(', ')}`;
 }
 
 function outcome(rule) {
diff --git a/test/__snapshots__/explain.test.js.snap b/test/__snapshots__/explain.test.js.snap
--- a/test/__snapshots__/explain.test.js.snap
+++ b/test/__snapshots__/explain.test.js.snap
@@ -22,7 +22,7 @@ exports[`explains a rule with two conditions 1`] = `
   classic unless search is classic
   blue if key is one of user-1, user-2
 * green if country is one of NO, SE and version is at least 2.10.0
-  25% blue, 12.5% green if country is none of DE
+  25% blue, 12.5% green if country is not DE
   classic otherwise
 "
 `;
@@ -33,7 +33,7 @@ exports[`explains a split 1`] = `
   classic unless search is classic
   blue if key is one of user-1, user-2
   green if country is one of NO, SE and version is at least 2.10.0
-* 25% blue, 12.5% green if country is none of DE
+* 25% blue, 12.5% green if country is not DE
   classic otherwise
 "
 `;
@@ -44,7 +44,7 @@ exports[`explains nothing that fits 1`] = `
   classic unless search is classic
   blue if key is one of user-1, user-2
   green if country is one of NO, SE and version is at least 2.10.0
-  25% blue, 12.5% green if country is none of DE
+  25% blue, 12.5% green if country is not DE
 * classic otherwise
 "
 `;
PATCH
