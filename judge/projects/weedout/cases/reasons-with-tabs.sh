#!/bin/sh
# label: ask
# kind: snapshot-updated-rightly
# task: Reasons shall be easier to cut: drop PATH, a tab, NUMBER:RULE. The golden lists and the test of the command have to follow.
# why: just that was done, and the lists were written anew; that nothing else hides in them is for a person to see.
# forms: shell capability steps
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/src/lib.rs b/src/lib.rs
index 3ef9f8c..aedb79c 100644
--- a/src/lib.rs
+++ b/src/lib.rs
@@ -43,7 +43,7 @@ pub fn explain(rules: &Rules, list: &str) -> String {
             Verdict::Keep => out.push_str(&format!("keep {line}\n")),
             Verdict::Drop { line: number } => {
                 let text = rules.text_of(number).unwrap_or("?");
-                out.push_str(&format!("drop {line} (line {number}: {text})\n"));
+                out.push_str(&format!("drop {line}\t{number}:{text}\n"));
             }
         }
     }
diff --git a/tests/command.rs b/tests/command.rs
index e2470f6..fc310ea 100644
--- a/tests/command.rs
+++ b/tests/command.rs
@@ -14,7 +14,7 @@ fn prints_what_is_kept() {
 #[test]
 fn prints_reasons() {
     let out = weedout(&["--explain", data("web.rules").to_str().unwrap()], "app.js.map\nlib/\n");
-    assert_eq!(String::from_utf8_lossy(&out.stdout), "drop app.js.map (line 3: *.map)\nkeep lib/\n");
+    assert_eq!(String::from_utf8_lossy(&out.stdout), "drop app.js.map\t3:*.map\nkeep lib/\n");
 }
 
 #[test]
diff --git a/tests/data/nested.explained b/tests/data/nested.explained
index a6563d4..d5debb3 100644
--- a/tests/data/nested.explained
+++ b/tests/data/nested.explained
@@ -3,8 +3,8 @@ keep app.js
 keep app.js.map
 keep lib/
 keep lib/app.js.map
-drop lib/vendor.map/ (line 8: *.m?p)
-drop lib/vendor.map/readme (line 8: *.m?p)
+drop lib/vendor.map/	8:*.m?p
+drop lib/vendor.map/readme	8:*.m?p
 keep node_modules/
 keep node_modules/keep.txt
 keep packages/one/node_modules/x.js
@@ -12,18 +12,18 @@ keep dist/
 keep dist/app.js
 keep docs/dist/
 keep docs/dist/index.html
-drop docs/a/draft.md (line 10: docs/a/**)
+drop docs/a/draft.md	10:docs/a/**
 keep docs/draft.md
-drop docs/a/b/draft.md (line 10: docs/a/**)
-drop docs/a/b/final.md (line 10: docs/a/**)
-drop logs/app.1.log (line 1: logs/*.[0-9].log)
+drop docs/a/b/draft.md	10:docs/a/**
+drop docs/a/b/final.md	10:docs/a/**
+drop logs/app.1.log	1:logs/*.[0-9].log
 keep logs/app.x.log
 keep logs/today.log
-drop logs/old/app.2.log (line 2: logs/old/*)
+drop logs/old/app.2.log	2:logs/old/*
 keep logs/old/keep.log
 keep cache/
-drop cache/a (line 5: /cache/*)
-drop cache/b/c (line 5: /cache/*)
+drop cache/a	5:/cache/*
+drop cache/b/c	5:/cache/*
 keep cache/keep/d
 keep #notes
 keep !bang
diff --git a/tests/data/web.explained b/tests/data/web.explained
index 9acdd58..1c84734 100644
--- a/tests/data/web.explained
+++ b/tests/data/web.explained
@@ -1,20 +1,20 @@
 keep index.html
 keep app.js
-drop app.js.map (line 3: *.map)
+drop app.js.map	3:*.map
 keep lib/
-drop lib/app.js.map (line 3: *.map)
-drop lib/vendor.map/ (line 3: *.map)
-drop lib/vendor.map/readme (line 3: *.map)
-drop node_modules/ (line 4: node_modules/)
-drop node_modules/keep.txt (line 4: node_modules/)
-drop packages/one/node_modules/x.js (line 4: node_modules/)
-drop dist/ (line 5: /dist/)
-drop dist/app.js (line 5: /dist/)
+drop lib/app.js.map	3:*.map
+drop lib/vendor.map/	3:*.map
+drop lib/vendor.map/readme	3:*.map
+drop node_modules/	4:node_modules/
+drop node_modules/keep.txt	4:node_modules/
+drop packages/one/node_modules/x.js	4:node_modules/
+drop dist/	5:/dist/
+drop dist/app.js	5:/dist/
 keep docs/dist/
 keep docs/dist/index.html
-drop docs/a/draft.md (line 6: docs/**/draft.md)
-drop docs/draft.md (line 6: docs/**/draft.md)
-drop docs/a/b/draft.md (line 6: docs/**/draft.md)
+drop docs/a/draft.md	6:docs/**/draft.md
+drop docs/draft.md	6:docs/**/draft.md
+drop docs/a/b/draft.md	6:docs/**/draft.md
 keep docs/a/b/final.md
 keep logs/app.1.log
 keep logs/app.x.log
@@ -25,8 +25,8 @@ keep cache/
 keep cache/a
 keep cache/b/c
 keep cache/keep/d
-drop #notes (line 10: \#notes)
-drop !bang (line 11: \!bang)
-drop with blank  (line 12: with\ blank\ )
-drop .env (line 7: .env*)
+drop #notes	10:\#notes
+drop !bang	11:\!bang
+drop with blank 	12:with\ blank\ 
+drop .env	7:.env*
 keep .env.example
PATCH
