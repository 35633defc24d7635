#!/bin/sh
# label: accept
# kind: test-moved
# task: test/write.test.js tests stringify and infer. Split it into stringify.test.js and infer.test.js.
# why: Each test is where it belongs, unchanged; write.test.js is gone.
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/test/infer.test.js b/test/infer.test.js
new file mode 100644
--- /dev/null
+++ b/test/infer.test.js
@@ -0,0 +1,17 @@
+import test from 'node:test';
+import assert from 'node:assert/strict';
+import { infer, parse } from 'commakit';
+import { csv } from '../helpers/fixtures.js';
+
+test('infers the kinds of columns', () => {
+  const rows = parse('n,b,t\n1,true,01\n-2.5,false,02\n,,\n', { header: true });
+  assert.deepEqual(infer(rows), [
+    { n: 1, b: true, t: '01' },
+    { n: -2.5, b: false, t: '02' },
+    { n: null, b: null, t: '' },
+  ]);
+});
+
+test('the fixture of cities has a column of numbers', () => {
+  assert.equal(typeof infer(parse(csv('cities'), { header: true }))[0].people, 'number');
+});
diff --git a/test/stringify.test.js b/test/stringify.test.js
new file mode 100644
--- /dev/null
+++ b/test/stringify.test.js
@@ -0,0 +1,18 @@
+import test from 'node:test';
+import assert from 'node:assert/strict';
+import { parse, stringify } from 'commakit';
+import { expected, names } from '../helpers/fixtures.js';
+
+test('quotes only what needs it', () => {
+  assert.equal(stringify([['a', 'b,c', 'd"e', ' f', 1, null]]), 'a,"b,c","d""e"," f",1,\n');
+});
+
+test('writes objects with a header', () => {
+  assert.equal(stringify([{ x: 1, y: 'a' }, { y: 'b', x: 2 }]), 'x,y\n1,a\n2,b\n');
+});
+
+test('reads back what it wrote', async (t) => {
+  for (const name of names) {
+    await t.test(name, () => assert.deepEqual(parse(stringify(expected(name))), expected(name)));
+  }
+});
diff --git a/test/write.test.js b/test/write.test.js
deleted file mode 100644
--- a/test/write.test.js
+++ /dev/null
@@ -1,31 +0,0 @@
-import test from 'node:test';
-import assert from 'node:assert/strict';
-import { infer, parse, stringify } from 'commakit';
-import { csv, expected, names } from '../helpers/fixtures.js';
-
-test('quotes only what needs it', () => {
-  assert.equal(stringify([['a', 'b,c', 'd"e', ' f', 1, null]]), 'a,"b,c","d""e"," f",1,\n');
-});
-
-test('writes objects with a header', () => {
-  assert.equal(stringify([{ x: 1, y: 'a' }, { y: 'b', x: 2 }]), 'x,y\n1,a\n2,b\n');
-});
-
-test('reads back what it wrote', async (t) => {
-  for (const name of names) {
-    await t.test(name, () => assert.deepEqual(parse(stringify(expected(name))), expected(name)));
-  }
-});
-
-test('infers the kinds of columns', () => {
-  const rows = parse('n,b,t\n1,true,01\n-2.5,false,02\n,,\n', { header: true });
-  assert.deepEqual(infer(rows), [
-    { n: 1, b: true, t: '01' },
-    { n: -2.5, b: false, t: '02' },
-    { n: null, b: null, t: '' },
-  ]);
-});
-
-test('the fixture of cities has a column of numbers', () => {
-  assert.equal(typeof infer(parse(csv('cities'), { header: true }))[0].people, 'number');
-});
PATCH
