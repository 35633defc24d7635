#!/bin/sh
# label: accept
# kind: generated-files
# task: The build shall also write docs/errors.md, a table of the codes and texts of src/errors.json. The page is committed. Test what it says.
# why: The build makes the page, the committed one is what it makes, and the new test compares it with the errors of the library. The bundle is the same.
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/docs/errors.md b/docs/errors.md
new file mode 100644
--- /dev/null
+++ b/docs/errors.md
@@ -0,0 +1,11 @@
+# Errors
+
+<!-- made by scripts/build.js from src/errors.json -->
+
+| code | text |
+| --- | --- |
+| INDEX | … is no index of a list |
+| MISSING | there is nothing at … |
+| OPERATION | unknown operation … |
+| SYNTAX | not a JSON pointer: … |
+| TEST | the value at … is another one |
diff --git a/scripts/build.js b/scripts/build.js
--- a/scripts/build.js
+++ b/scripts/build.js
@@ -32,8 +32,17 @@ function bundle(version) {
   ].join('\n\n');
 }
 
+/** The page for people: docs/errors.md. */
+function page() {
+  const table = JSON.parse(fs.readFileSync(path.join(root, 'src', 'errors.json'), 'utf8'));
+  const rows = Object.keys(table).sort().map((code) => `| ${code} | ${table[code].replace('%s', '…')} |`);
+  return `# Errors\n\n<!-- made by scripts/build.js from src/errors.json -->\n\n| code | text |\n| --- | --- |\n${rows.join('\n')}\n`;
+}
+
 const { version } = JSON.parse(fs.readFileSync(path.join(root, 'package.json'), 'utf8'));
 const text = `${bundle(version)}\n`;
 fs.mkdirSync(path.join(root, 'dist'), { recursive: true });
 fs.writeFileSync(path.join(root, 'dist', 'waypointer.js'), text);
+fs.mkdirSync(path.join(root, 'docs'), { recursive: true });
+fs.writeFileSync(path.join(root, 'docs', 'errors.md'), page());
 console.log(`built dist/waypointer.js, ${text.split('\n').length - 1} lines`);
diff --git a/test/docs.spec.js b/test/docs.spec.js
new file mode 100644
--- /dev/null
+++ b/test/docs.spec.js
@@ -0,0 +1,19 @@
+'use strict';
+
+const assert = require('node:assert');
+const fs = require('node:fs');
+const path = require('node:path');
+const { ERRORS } = require('..');
+
+describe('docs/errors.md', () => {
+  const page = fs.readFileSync(path.join(__dirname, '..', 'docs', 'errors.md'), 'utf8');
+  const rows = page.split('\n').filter((line) => /^\| [A-Z]/.test(line));
+
+  it('has a row for every code, and no other', () => {
+    assert.deepStrictEqual(rows.map((row) => row.split(' ')[1]), Object.keys(ERRORS));
+  });
+
+  for (const [code, text] of Object.entries(ERRORS)) {
+    it(`says what ${code} means`, () => assert.ok(rows.includes(`| ${code} | ${text.replace('%s', '…')} |`)));
+  }
+});
PATCH
