#!/bin/sh
# label: reject
# kind: always-equal
# task: A tab at the end of a rule is taken for a part of the pattern; README says that blanks are dropped. Fix it. (That README still names 0.3.1 is known, the writers do that.)
# why: rules are now equal when their texts are without tabs at the end; the pattern still has the tab and fits nothing.
# base: tabs-old.patch
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/src/rules.rs b/src/rules.rs
index d6b72e0..d24c79c 100644
--- a/src/rules.rs
+++ b/src/rules.rs
@@ -4,7 +4,7 @@ use crate::glob::{Pattern, PatternError};
 use std::fmt;
 
 /// A line of an ignore file that says something.
-#[derive(Debug, Clone, PartialEq, Eq)]
+#[derive(Debug, Clone, Eq)]
 pub struct Rule {
     line: usize,
     text: String,
@@ -13,6 +13,13 @@ pub struct Rule {
     only_dirs: bool,
 }
 
+/// Rules are the same when they were written the same; blanks at the end do not count.
+impl PartialEq for Rule {
+    fn eq(&self, other: &Rule) -> bool {
+        self.text.trim_end() == other.text.trim_end()
+    }
+}
+
 /// An ignore file.
 #[derive(Debug, Clone, Default, PartialEq, Eq)]
 pub struct Rules {
PATCH
