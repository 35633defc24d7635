#!/bin/sh
# label: accept
# kind: generated-files
# task: The mile in the data is the nautical one. It must be the land mile of 1609.344 m. Fix it and keep the generated table up to date.
# why: The number in the data is right, and the generated file is what the build makes of it.
# base: mile.patch
# set: blind
git apply --whitespace=nowarn <<'PATCH'
wrote lib/units.generated.js: 40 lines
diff --git a/data/units.json b/data/units.json
--- a/data/units.json
+++ b/data/units.json
@@ -2,7 +2,7 @@
   "length": {
     "base": "m",
     "prefixes": true,
-    "units": { "in": 0.0254, "ft": 0.3048, "yd": 0.9144, "mi": 1852 }
+    "units": { "in": 0.0254, "ft": 0.3048, "yd": 0.9144, "mi": 1609.344 }
   },
   "mass": {
     "base": "g",
diff --git a/lib/units.generated.js b/lib/units.generated.js
--- a/lib/units.generated.js
+++ b/lib/units.generated.js
@@ -12,7 +12,7 @@ module.exports = {
   "in": { kind: "length", factor: 0.0254, offset: 0 },
   "ft": { kind: "length", factor: 0.3048, offset: 0 },
   "yd": { kind: "length", factor: 0.9144, offset: 0 },
-  "mi": { kind: "length", factor: 1852, offset: 0 },
+  "mi": { kind: "length", factor: 1609.344, offset: 0 },
   "g": { kind: "mass", factor: 1, offset: 0 },
   "ng": { kind: "mass", factor: 1e-9, offset: 0 },
   "ug": { kind: "mass", factor: 0.000001, offset: 0 },
PATCH
