#!/bin/sh
# label: accept
# kind: refactor
# task: tableOf in build.js is one long loop. Split it; the generated file must not change.
# why: The loop became two functions; lib/units.generated.js is the same to the byte.
# set: blind
git apply --whitespace=nowarn <<'PATCH'
wrote lib/units.generated.js: 40 lines
diff --git a/build.js b/build.js
--- a/build.js
+++ b/build.js
@@ -9,20 +9,22 @@ const read = (name) => JSON.parse(fs.readFileSync(path.join(__dirname, 'data', n
 function tableOf(kinds, prefixes) {
   const table = {};
   for (const [kind, { base, prefixes: wanted, units }] of Object.entries(kinds)) {
-    table[base] = { kind, factor: 1, offset: 0 };
-    if (wanted) {
-      for (const [prefix, exponent] of Object.entries(prefixes)) {
-        table[prefix + base] = { kind, factor: Number(`1e${exponent}`), offset: 0 };
-      }
-    }
+    Object.assign(table, multiples(kind, base, wanted ? prefixes : {}));
     for (const [name, unit] of Object.entries(units)) {
-      if (table[name] !== undefined) throw new Error(`${name} is defined twice`);
+      if (Object.hasOwn(table, name)) throw new Error(`${name} is defined twice`);
       table[name] = typeof unit === 'number' ? { kind, factor: unit, offset: 0 } : { kind, ...unit };
     }
   }
   return table;
 }
 
+/** The base unit and what the prefixes make of it. */
+function multiples(kind, base, prefixes) {
+  const exponents = { '': 0, ...prefixes };
+  return Object.fromEntries(Object.entries(exponents).map(([prefix, exponent]) =>
+    [prefix + base, { kind, factor: Number(`1e${exponent}`), offset: 0 }]));
+}
+
 function render(table) {
   const rows = Object.entries(table).map(([name, { kind, factor, offset }]) =>
     `  ${JSON.stringify(name)}: { kind: ${JSON.stringify(kind)}, factor: ${factor}, offset: ${offset} },\n`);
PATCH
