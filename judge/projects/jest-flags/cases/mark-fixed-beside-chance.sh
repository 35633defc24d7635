#!/bin/sh
# label: accept
# kind: fix-with-flaky-neighbour
# task: The mark in explain stands at the wrong rule, one too far down. Fix it. test/chance.test.js is a known flake, do not touch it.
# why: The rules are counted from one, as evaluate counts them; the flaky test fails now and then as it did before.
# base: flaky.patch
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/src/explain.js b/src/explain.js
--- a/src/explain.js
+++ b/src/explain.js
@@ -20,7 +20,8 @@ function explain(flags, name, context) {
   const lines = [[`off`, `${flag.off} when switched off`]];
   for (const need of flag.needs ?? []) lines.push([`needs ${need.flag}`, `${flag.off} unless ${need.flag} is ${need.value}`]);
   for (const [index, rule] of (flag.rules ?? []).entries()) {
-    lines.push([`rule ${index}`, `${outcome(rule)} if ${rule.when.map(condition).join(' and ') || 'anybody'}`]);
+    const mark = `rule ${index + 1}`;
+    lines.push([mark, `${outcome(rule)} if ${rule.when.map(condition).join(' and ') || 'anybody'}`]);
   }
   lines.push(['fallthrough', `${flag.fallthrough} otherwise`]);
   const body = lines.map(([mark, text]) => `${mark === reason ? '*' : ' '} ${text}`);
PATCH
