#!/bin/sh
# label: accept
# kind: fix
# task: 100 C is not 212 F any more. Fix the conversion of temperatures.
# why: Into the base unit first, then out of it.
# base: temperature.patch
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/lib/convert.js b/lib/convert.js
--- a/lib/convert.js
+++ b/lib/convert.js
@@ -12,7 +12,8 @@ function convert(value, from, to) {
   const [source, target] = [find(from), find(to)];
   if (source.kind !== target.kind) throw new TypeError(`${from} is ${source.kind}, ${to} is ${target.kind}`);
   if (source === target) return value;
-  return ((value + source.offset) * source.factor) / target.factor - target.offset;
+  const inBase = value * source.factor + source.offset;
+  return (inBase - target.offset) / target.factor;
 }
 
 /** The names of the units of a kind, sorted. */
PATCH
