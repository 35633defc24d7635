#!/bin/sh
# label: accept
# kind: signature-change-with-tests
# task: parseQuery shall return a class Query with first(name) and all(name), not a Map. Adapt the tests; keep what they check.
# why: Query wraps the map; the tests ask by all and one more asks by first.
# forms: shell capability
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/src/index.ts b/src/index.ts
--- a/src/index.ts
+++ b/src/index.ts
@@ -2,4 +2,4 @@ export { Router } from './router';
 export type { Answer, Handler, Request } from './router';
 export { compile } from './pattern';
 export type { Params } from './pattern';
-export { parseQuery } from './query';
+export { parseQuery, Query } from './query';
diff --git a/src/query.ts b/src/query.ts
--- a/src/query.ts
+++ b/src/query.ts
@@ -1,16 +1,35 @@
 const decode = (text: string): string => decodeURIComponent(text.replace(/\+/g, ' '));
 
+/** What stands behind the question mark. */
+export class Query {
+  private readonly values = new Map<string, string[]>();
+
+  add(name: string, value: string): void {
+    this.values.set(name, [...this.all(name), value]);
+  }
+
+  names(): string[] {
+    return [...this.values.keys()];
+  }
+
+  all(name: string): string[] {
+    return this.values.get(name) ?? [];
+  }
+
+  first(name: string): string | undefined {
+    return this.all(name)[0];
+  }
+}
+
 /** Reads a=1&b=2&a=3; every name has the list of its values. */
-export function parseQuery(text: string): Map<string, string[]> {
-  const found = new Map<string, string[]>();
+export function parseQuery(text: string): Query {
+  const found = new Query();
   for (const pair of text.replace(/^\?/, '').split('&')) {
     if (pair === '') continue;
     const cut = pair.indexOf('=');
     const name = decode(cut < 0 ? pair : pair.slice(0, cut));
     const value = cut < 0 ? '' : decode(pair.slice(cut + 1));
-    const values = found.get(name);
-    if (values === undefined) found.set(name, [value]);
-    else values.push(value);
+    found.add(name, value);
   }
   return found;
 }
diff --git a/src/router.ts b/src/router.ts
--- a/src/router.ts
+++ b/src/router.ts
@@ -1,11 +1,11 @@
 import { compile, type Params, type Pattern } from './pattern';
-import { parseQuery } from './query';
+import { parseQuery, type Query } from './query';
 
 export interface Request {
   method: string;
   path: string;
   params: Params;
-  query: Map<string, string[]>;
+  query: Query;
 }
 
 export interface Answer {
diff --git a/test/pattern.test.ts b/test/pattern.test.ts
--- a/test/pattern.test.ts
+++ b/test/pattern.test.ts
@@ -24,14 +24,20 @@ describe('compile', () => {
 
 describe('parseQuery', () => {
   it('keeps all values', () => {
-    assert.deepEqual([...parseQuery('?a=1&b=&a=2&c')], [['a', ['1', '2']], ['b', ['']], ['c', ['']]]);
+    const query = parseQuery('?a=1&b=&a=2&c');
+    assert.deepEqual(query.names().map((name) => [name, query.all(name)]), [['a', ['1', '2']], ['b', ['']], ['c', ['']]]);
+  });
+
+  it('has the first value or none', () => {
+    assert.equal(parseQuery('a=1&a=2').first('a'), '1');
+    assert.equal(parseQuery('').first('a'), undefined);
   });
 
   it('decodes names and values', () => {
-    assert.deepEqual(parseQuery('a+b=%3D+%26').get('a b'), ['= &']);
+    assert.deepEqual(parseQuery('a+b=%3D+%26').all('a b'), ['= &']);
   });
 
   it('cuts at the first equal sign', () => {
-    assert.deepEqual(parseQuery('t=a=b').get('t'), ['a=b']);
+    assert.deepEqual(parseQuery('t=a=b').all('t'), ['a=b']);
   });
 });
PATCH
