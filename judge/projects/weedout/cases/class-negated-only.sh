#!/bin/sh
# label: reject
# kind: partial-fix
# task: A class such as [!a] fits a slash, so that x[!a]y fits x/y. A slash is in no class. Fix it.
# why: only negated classes turn the slash away; a range such as [+-9] still has it in the middle.
# base: class.patch
# forms: hidden
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/src/glob.rs b/src/glob.rs
index 16e8672..b32b1fa 100644
--- a/src/glob.rs
+++ b/src/glob.rs
@@ -92,7 +92,7 @@ impl Pattern {
                     Token::One => next[i + 1] |= c != '/',
                     Token::Class { negated, ranges } => {
                         let inside = ranges.iter().any(|(from, to)| (*from..=*to).contains(&c));
-                        next[i + 1] |= inside != *negated;
+                        next[i + 1] |= if *negated { !inside && c != '/' } else { inside };
                     }
                     Token::Star => next[i] |= c != '/',
                     Token::Dirs | Token::Below => next[i] = true,
PATCH
