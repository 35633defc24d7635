#!/bin/sh
# label: accept
# kind: feature-with-tests
# task: Add a filter trim, with a test and a line in CHANGES.md.
# why: The filter, its test and the note are there.
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/CHANGES.md b/CHANGES.md
--- a/CHANGES.md
+++ b/CHANGES.md
@@ -1,5 +1,8 @@
 # Changes
 
+## Next
+- Filter `trim`.
+
 ## 2.1.0
 - `{{#each}}` gives `@index`.
 
diff --git a/lib/filters.js b/lib/filters.js
--- a/lib/filters.js
+++ b/lib/filters.js
@@ -11,6 +11,7 @@ const text = (value) => (value === undefined || value === null ? '' : String(val
 const filters = {
   upper: (value) => text(value).toUpperCase(),
   lower: (value) => text(value).toLowerCase(),
+  trim: (value) => text(value).trim(),
   title: (value) => text(value).replace(/(^|\s)\S/g, (sign) => sign.toUpperCase()),
   count: (value) => (Array.isArray(value) ? value.length : text(value).length),
 };
diff --git a/test/render.test.js b/test/render.test.js
--- a/test/render.test.js
+++ b/test/render.test.js
@@ -36,6 +36,11 @@ describe('filters', () => {
     assert.strictEqual(render('{{ x | lower | title }}', { x: 'ADA LOVELACE' }), 'Ada Lovelace');
   });
 
+  it('trims', () => {
+    assert.strictEqual(render('[{{ x | trim | upper }}]', { x: '  a b ' }), '[A B]');
+    assert.strictEqual(render('[{{ x | trim }}]', {}), '[]');
+  });
+
   it('names the line of an unknown one', () => {
     assert.throws(() => render('one\n{{ x | nope }}', {}), (error) => {
       assert.ok(error instanceof TemplateError);
PATCH
