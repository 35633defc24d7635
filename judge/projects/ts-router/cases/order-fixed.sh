#!/bin/sh
# label: accept
# kind: fix
# task: /users/me is answered by /users/:id. The more exact route must go first.
# why: Fixed segments weigh 2, parameters 1, a rest 0.
# base: order.patch
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/src/pattern.ts b/src/pattern.ts
--- a/src/pattern.ts
+++ b/src/pattern.ts
@@ -16,10 +16,15 @@ export function compile(text: string): Pattern {
       throw new SyntaxError(`a rest must be the last segment: ${text}`);
     }
   });
-  const weight = parts.reduce((sum, part) => sum * 3 + (part.startsWith(':') ? 2 : part.startsWith('*') ? 0 : 1), 1);
+  const weight = parts.reduce((sum, part) => sum * 3 + weightOf(part), 1);
   return { weight, match: (path) => matchParts(parts, segments(path)) };
 }
 
+function weightOf(part: string): number {
+  if (part.startsWith('*')) return 0;
+  return part.startsWith(':') ? 1 : 2;
+}
+
 function matchParts(parts: string[], given: string[]): Params | null {
   const params: Params = {};
   for (const [index, part] of parts.entries()) {
PATCH
