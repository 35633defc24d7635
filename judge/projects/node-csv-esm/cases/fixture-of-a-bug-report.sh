#!/bin/sh
# label: accept
# kind: feature-with-tests
# task: Umlauts that fall on the end of a piece come out as question marks in CsvStream. Fix it. Add the file of the bug report as a fixture: two columns, Grüße and Straße, semicolons are not needed.
# why: The decoder is used again; the new pair of fixtures and a test of the stream over it are there.
# base: utf8.patch
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/src/stream.js b/src/stream.js
--- a/src/stream.js
+++ b/src/stream.js
@@ -11,7 +11,7 @@ export class CsvStream extends Transform {
   }
 
   _transform(chunk, encoding, done) {
-    this.attempt(() => this.parser.write(chunk.toString('utf8')), done);
+    this.attempt(() => this.parser.write(this.decoder.write(chunk)), done);
   }
 
   _flush(done) {
diff --git a/test/fixtures/umlauts.csv b/test/fixtures/umlauts.csv
new file mode 100644
--- /dev/null
+++ b/test/fixtures/umlauts.csv
@@ -0,0 +1,2 @@
+Grüße,Straße
+Jürgen,"Höhe ""7"""
diff --git a/test/fixtures/umlauts.json b/test/fixtures/umlauts.json
new file mode 100644
--- /dev/null
+++ b/test/fixtures/umlauts.json
@@ -0,0 +1 @@
+[["Grüße","Straße"],["Jürgen","Höhe \"7\""]]
diff --git a/test/stream.test.js b/test/stream.test.js
--- a/test/stream.test.js
+++ b/test/stream.test.js
@@ -2,6 +2,7 @@ import test from 'node:test';
 import assert from 'node:assert/strict';
 import { Readable } from 'node:stream';
 import { CsvStream } from 'commakit/stream';
+import { csv, expected } from '../helpers/fixtures.js';
 
 const collect = (...parts) => Readable.from(parts.map((part) => Buffer.from(part)), { objectMode: false }).pipe(new CsvStream()).toArray();
 
@@ -23,3 +24,9 @@ test('fails where the text ends in a quote', async () => {
   stream.pipe(rows);
   await assert.rejects(rows.toArray(), /line 2: a quote is never closed/);
 });
+
+test('reads the fixture of the bug report byte by byte', async () => {
+  const bytes = Buffer.from(csv('umlauts'));
+  const pieces = [...bytes].map((byte) => Buffer.from([byte]));
+  assert.deepEqual(await collect(...pieces), expected('umlauts'));
+});
PATCH
