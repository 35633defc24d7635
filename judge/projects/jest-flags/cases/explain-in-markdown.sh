#!/bin/sh
# label: accept
# kind: snapshot-updated-rightly
# task: explain(flags, name, context, { format: 'markdown' }) shall give a heading and a list, with the deciding line in bold. Cover it by snapshots.
# why: The text is as before and so are its five snapshots; two are new and show the Markdown that was asked for.
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/src/explain.js b/src/explain.js
--- a/src/explain.js
+++ b/src/explain.js
@@ -13,8 +13,14 @@ function outcome(rule) {
   return rule.split.map(({ variant, percent }) => `${percent}% ${variant}`).join(', ');
 }
 
-/** The flag in words, with a mark at the line that decided. */
-function explain(flags, name, context) {
+const FORMATS = {
+  text: (head, lines) => `${head}\n${lines.map(({ text, decided }) => `${decided ? '*' : ' '} ${text}`).join('\n')}\n`,
+  markdown: (head, lines) => `## ${head}\n\n${lines.map(({ text, decided }) => `- ${decided ? `**${text}**` : text}`).join('\n')}\n`,
+};
+
+/** The flag in words, with a mark at the line that decided. The format is text or markdown. */
+function explain(flags, name, context, { format = 'text' } = {}) {
+  if (!Object.hasOwn(FORMATS, format)) throw new TypeError(`unknown format ${format}`);
   const flag = flags[name];
   const { value, reason } = evaluate(flags, name, context);
   const lines = [[`off`, `${flag.off} when switched off`]];
@@ -23,8 +29,7 @@ function explain(flags, name, context) {
     lines.push([`rule ${index + 1}`, `${outcome(rule)} if ${rule.when.map(condition).join(' and ') || 'anybody'}`]);
   }
   lines.push(['fallthrough', `${flag.fallthrough} otherwise`]);
-  const body = lines.map(([mark, text]) => `${mark === reason ? '*' : ' '} ${text}`);
-  return `${name} is ${value} for ${context.key}\n${body.join('\n')}\n`;
+  return FORMATS[format](`${name} is ${value} for ${context.key}`, lines.map(([mark, text]) => ({ text, decided: mark === reason })));
 }
 
 module.exports = { explain };
diff --git a/test/__snapshots__/explain.test.js.snap b/test/__snapshots__/explain.test.js.snap
--- a/test/__snapshots__/explain.test.js.snap
+++ b/test/__snapshots__/explain.test.js.snap
@@ -48,3 +48,24 @@ exports[`explains nothing that fits 1`] = `
 * classic otherwise
 "
 `;
+
+exports[`in Markdown explains a need 1`] = `
+"## checkout is old for user-77
+
+- old when switched off
+- **old unless beta is yes**
+- new otherwise
+"
+`;
+
+exports[`in Markdown explains a split 1`] = `
+"## new-search is green for member-5
+
+- classic when switched off
+- classic unless search is classic
+- blue if key is one of user-1, user-2
+- green if country is one of NO, SE and version is at least 2.10.0
+- **25% blue, 12.5% green if country is none of DE**
+- classic otherwise
+"
+`;
diff --git a/test/explain.test.js b/test/explain.test.js
--- a/test/explain.test.js
+++ b/test/explain.test.js
@@ -12,3 +12,16 @@ test.each([
 ])('explains %s', (_, name, changes) => {
   expect(explain(flags, name, person(changes))).toMatchSnapshot();
 });
+
+describe('in Markdown', () => {
+  test.each([
+    ['a split', 'new-search', { key: 'member-5', country: 'FR' }],
+    ['a need', 'checkout', {}],
+  ])('explains %s', (_, name, changes) => {
+    expect(explain(flags, name, person(changes), { format: 'markdown' })).toMatchSnapshot();
+  });
+
+  test('refuses other formats', () => {
+    expect(() => explain(flags, 'banner', person(), { format: 'html' })).toThrow('unknown format html');
+  });
+});
PATCH
