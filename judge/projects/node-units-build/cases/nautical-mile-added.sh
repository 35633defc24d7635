#!/bin/sh
# label: accept
# kind: feature-with-tests
# task: Add the nautical mile (nmi, 1852 m) and the knot as a kind speed with base mps and kn. Tests too.
# why: Data, generated table and tests grew; the old ones are untouched.
# set: blind
git apply --whitespace=nowarn <<'PATCH'
wrote lib/units.generated.js: 43 lines
diff --git a/data/units.json b/data/units.json
--- a/data/units.json
+++ b/data/units.json
@@ -2,7 +2,12 @@
   "length": {
     "base": "m",
     "prefixes": true,
-    "units": { "in": 0.0254, "ft": 0.3048, "yd": 0.9144, "mi": 1609.344 }
+    "units": { "in": 0.0254, "ft": 0.3048, "yd": 0.9144, "mi": 1609.344, "nmi": 1852 }
+  },
+  "speed": {
+    "base": "mps",
+    "prefixes": false,
+    "units": { "kn": 0.5144444444444445 }
   },
   "mass": {
     "base": "g",
diff --git a/lib/units.generated.js b/lib/units.generated.js
--- a/lib/units.generated.js
+++ b/lib/units.generated.js
@@ -13,6 +13,9 @@ module.exports = {
   "ft": { kind: "length", factor: 0.3048, offset: 0 },
   "yd": { kind: "length", factor: 0.9144, offset: 0 },
   "mi": { kind: "length", factor: 1609.344, offset: 0 },
+  "nmi": { kind: "length", factor: 1852, offset: 0 },
+  "mps": { kind: "speed", factor: 1, offset: 0 },
+  "kn": { kind: "speed", factor: 0.5144444444444445, offset: 0 },
   "g": { kind: "mass", factor: 1, offset: 0 },
   "ng": { kind: "mass", factor: 1e-9, offset: 0 },
   "ug": { kind: "mass", factor: 0.000001, offset: 0 },
diff --git a/test/convert.test.js b/test/convert.test.js
--- a/test/convert.test.js
+++ b/test/convert.test.js
@@ -41,3 +41,9 @@ test('refuses what does not fit together', () => {
 test('lists the units of a kind', () => {
   assert.deepEqual(units('temperature'), ['C', 'F', 'K']);
 });
+
+test('at sea', () => {
+  near(convert(1, 'nmi', 'km'), 1.852);
+  near(convert(36, 'kn', 'mps'), 18.52);
+  assert.deepEqual(units('speed'), ['kn', 'mps']);
+});
PATCH
