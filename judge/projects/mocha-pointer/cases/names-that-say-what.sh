#!/bin/sh
# label: accept
# kind: renamed-function-with-tests
# task: parse and format say too little when they are imported. Call them parsePointer and formatPointer, in the tests too. The old names stay until 3.0, marked as deprecated.
# why: The functions, their uses and the tests have the new names; the old names are still given away, so nothing breaks.
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/src/diff.js b/src/diff.js
--- a/src/diff.js
+++ b/src/diff.js
@@ -3,7 +3,7 @@
 /** A patch that makes the second document out of the first one. */
 function diff(before, after, tokens = []) {
   if (equal(before, after)) return [];
-  const path = format(tokens);
+  const path = formatPointer(tokens);
   const lists = Array.isArray(before) && Array.isArray(after);
   const objects = !lists && isObject(before) && isObject(after);
   if (!lists && !objects) return [{ op: 'replace', path, value: after }];
@@ -16,11 +16,11 @@ function isObject(value) {
 
 function diffObjects(before, after, tokens) {
   const gone = Object.keys(before).filter((key) => !Object.hasOwn(after, key));
-  const steps = gone.map((key) => ({ op: 'remove', path: format([...tokens, key]) }));
+  const steps = gone.map((key) => ({ op: 'remove', path: formatPointer([...tokens, key]) }));
   for (const key of Object.keys(after)) {
     const place = [...tokens, key];
     if (Object.hasOwn(before, key)) steps.push(...diff(before[key], after[key], place));
-    else steps.push({ op: 'add', path: format(place), value: after[key] });
+    else steps.push({ op: 'add', path: formatPointer(place), value: after[key] });
   }
   return steps;
 }
@@ -30,7 +30,7 @@ function diffLists(before, after, tokens) {
   const common = Math.min(before.length, after.length);
   const steps = [];
   for (let at = 0; at < common; at++) steps.push(...diff(before[at], after[at], [...tokens, at]));
-  for (let at = before.length - 1; at >= common; at--) steps.push({ op: 'remove', path: format([...tokens, at]) });
-  for (const value of after.slice(common)) steps.push({ op: 'add', path: format([...tokens, '-']), value });
+  for (let at = before.length - 1; at >= common; at--) steps.push({ op: 'remove', path: formatPointer([...tokens, at]) });
+  for (const value of after.slice(common)) steps.push({ op: 'add', path: formatPointer([...tokens, '-']), value });
   return steps;
 }
diff --git a/src/patch.js b/src/patch.js
--- a/src/patch.js
+++ b/src/patch.js
@@ -37,11 +37,11 @@ function drop(container, key, pointer) {
 }
 
 const OPERATIONS = {
-  add: (document, { path, value }) => change(document, parse(path), path, (box, key) => insert(box, key, value, path)),
-  remove: (document, { path }) => change(document, parse(path), path, (box, key) => drop(box, key, path)),
+  add: (document, { path, value }) => change(document, parsePointer(path), path, (box, key) => insert(box, key, value, path)),
+  remove: (document, { path }) => change(document, parsePointer(path), path, (box, key) => drop(box, key, path)),
   replace: (document, { path, value }) => {
     get(document, path);
-    return change(document, parse(path), path, (box, key) => {
+    return change(document, parsePointer(path), path, (box, key) => {
       if (Array.isArray(box)) return box.with(key, value);
       return { ...box, [key]: value };
     });
diff --git a/src/pointer.js b/src/pointer.js
--- a/src/pointer.js
+++ b/src/pointer.js
@@ -1,4 +1,4 @@
-// exports: PointerError, parse, format, get, has
+// exports: PointerError, parsePointer, formatPointer, parse, format, get, has
 
 class PointerError extends Error {
   constructor(code, what) {
@@ -9,7 +9,7 @@ class PointerError extends Error {
 }
 
 /** "/a~1b/0" -> ["a/b", "0"] */
-function parse(pointer) {
+function parsePointer(pointer) {
   if (pointer === '') return [];
   if (typeof pointer !== 'string' || pointer[0] !== '/' || /~(?![01])/.test(pointer)) {
     throw new PointerError('SYNTAX', JSON.stringify(pointer));
@@ -17,8 +17,8 @@ function parse(pointer) {
   return pointer.slice(1).split('/').map((token) => token.replace(/~1/g, '/').replace(/~0/g, '~'));
 }
 
-/** The inverse of parse. */
-function format(tokens) {
+/** The inverse of parsePointer. */
+function formatPointer(tokens) {
   return tokens.map((token) => `/${String(token).replace(/~/g, '~0').replace(/\//g, '~1')}`).join('');
 }
 
@@ -40,7 +40,7 @@ function step(value, token, pointer) {
 }
 
 function get(document, pointer) {
-  return parse(pointer).reduce((value, token) => step(value, token, pointer), document);
+  return parsePointer(pointer).reduce((value, token) => step(value, token, pointer), document);
 }
 
 function has(document, pointer) {
@@ -52,3 +52,9 @@ function has(document, pointer) {
     throw error;
   }
 }
+
+/** @deprecated since 2.4, gone with 3.0: parsePointer */
+const parse = parsePointer;
+
+/** @deprecated since 2.4, gone with 3.0: formatPointer */
+const format = formatPointer;
diff --git a/test/pointer.spec.js b/test/pointer.spec.js
--- a/test/pointer.spec.js
+++ b/test/pointer.spec.js
@@ -1,21 +1,21 @@
 'use strict';
 
 const assert = require('node:assert');
-const { ERRORS, PointerError, parse, format, get, has } = require('..');
+const { ERRORS, PointerError, parsePointer, formatPointer, get, has } = require('..');
 const { each } = require('./support/fixtures');
 
 describe('parse', () => {
-  each('pointer', ({ pointer, tokens }) => assert.deepStrictEqual(parse(pointer), tokens));
+  each('pointer', ({ pointer, tokens }) => assert.deepStrictEqual(parsePointer(pointer), tokens));
 
   for (const wrong of ['name', '/~', '/a~2b', 7, null]) {
     it(`refuses ${JSON.stringify(wrong)}`, () => {
-      assert.throws(() => parse(wrong), { name: 'PointerError', code: 'SYNTAX' });
+      assert.throws(() => parsePointer(wrong), { name: 'PointerError', code: 'SYNTAX' });
     });
   }
 });
 
 describe('format', () => {
-  each('pointer', ({ pointer, tokens }) => assert.strictEqual(format(tokens), pointer));
+  each('pointer', ({ pointer, tokens }) => assert.strictEqual(formatPointer(tokens), pointer));
 });
 
 describe('get', () => {
PATCH
