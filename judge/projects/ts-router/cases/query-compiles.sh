#!/bin/sh
# label: accept
# kind: fix
# task: npm test does not compile since the last commit: left and right may be undefined. Fix src/query.ts; t=a=b is a case, too.
# why: The pair is cut by a pattern at the first equal sign; no assertion of types is needed.
# base: query.patch
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/src/query.ts b/src/query.ts
--- a/src/query.ts
+++ b/src/query.ts
@@ -5,9 +5,9 @@ export function parseQuery(text: string): Map<string, string[]> {
   const found = new Map<string, string[]>();
   for (const pair of text.replace(/^\?/, '').split('&')) {
     if (pair === '') continue;
-    const [left, right] = pair.split('=');
-    const name: string = decode(left);
-    const value: string = decode(right);
+    const [left = '', ...rest] = pair.split('=');
+    const name = decode(left);
+    const value = decode(rest.join('='));
     const values = found.get(name);
     if (values === undefined) found.set(name, [value]);
     else values.push(value);
PATCH
