#!/bin/sh
# label: accept
# kind: signature-change-with-tests
# task: verdict(path, true) is hard to read. It shall take a Kind, File or Dir, and a bool still for old callers (true is Dir). Use Kind in our own code and add tests.
# why: the second argument is what can become a Kind; the library, doc test and a new test use it, and calls with a bool mean what they did.
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/src/lib.rs b/src/lib.rs
index 3ef9f8c..8d5e0c9 100644
--- a/src/lib.rs
+++ b/src/lib.rs
@@ -1,25 +1,25 @@
 //! Reads ignore files and tells which paths they leave out.
 //!
 //! ```
-//! use weedout::{Rules, Verdict};
+//! use weedout::{Kind, Rules, Verdict};
 //!
 //! let rules = Rules::parse("# made by the compiler\n*.o\n/target/\n").unwrap();
-//! assert_eq!(rules.verdict("src/main.o", false), Verdict::Drop { line: 2 });
-//! assert_eq!(rules.verdict("target/debug/app", false), Verdict::Drop { line: 3 });
-//! assert_eq!(rules.verdict("src/main.rs", false), Verdict::Keep);
+//! assert_eq!(rules.verdict("src/main.o", Kind::File), Verdict::Drop { line: 2 });
+//! assert_eq!(rules.verdict("target/debug/app", Kind::File), Verdict::Drop { line: 3 });
+//! assert_eq!(rules.verdict("src/main.rs", Kind::File), Verdict::Keep);
 //! ```
 
 mod glob;
 mod rules;
 
 pub use glob::{Pattern, PatternError};
-pub use rules::{ParseError, Rule, Rules, Verdict};
+pub use rules::{Kind, ParseError, Rule, Rules, Verdict};
 
 /// Splits what says that a path is a directory from the path.
-fn kind_of(path: &str) -> (&str, bool) {
+fn kind_of(path: &str) -> (&str, Kind) {
     match path.strip_suffix('/') {
-        Some(dir) => (dir, true),
-        None => (path, false),
+        Some(dir) => (dir, Kind::Dir),
+        None => (path, Kind::File),
     }
 }
 
@@ -28,8 +28,8 @@ pub fn kept<'a>(rules: &Rules, list: &'a str) -> Vec<&'a str> {
     list.lines()
         .filter(|line| !line.is_empty())
         .filter(|line| {
-            let (path, is_dir) = kind_of(line);
-            rules.verdict(path, is_dir) == Verdict::Keep
+            let (path, kind) = kind_of(line);
+            rules.verdict(path, kind) == Verdict::Keep
         })
         .collect()
 }
@@ -38,8 +38,8 @@ pub fn kept<'a>(rules: &Rules, list: &'a str) -> Vec<&'a str> {
 pub fn explain(rules: &Rules, list: &str) -> String {
     let mut out = String::new();
     for line in list.lines().filter(|line| !line.is_empty()) {
-        let (path, is_dir) = kind_of(line);
-        match rules.verdict(path, is_dir) {
+        let (path, kind) = kind_of(line);
+        match rules.verdict(path, kind) {
             Verdict::Keep => out.push_str(&format!("keep {line}\n")),
             Verdict::Drop { line: number } => {
                 let text = rules.text_of(number).unwrap_or("?");
diff --git a/src/rules.rs b/src/rules.rs
index eeecd8d..7053e55 100644
--- a/src/rules.rs
+++ b/src/rules.rs
@@ -27,6 +27,24 @@ pub enum Verdict {
     Drop { line: usize },
 }
 
+/// What lies at a path.
+#[derive(Debug, Clone, Copy, PartialEq, Eq)]
+pub enum Kind {
+    File,
+    Dir,
+}
+
+impl From<bool> for Kind {
+    /// True is a directory.
+    fn from(is_dir: bool) -> Kind {
+        if is_dir {
+            Kind::Dir
+        } else {
+            Kind::File
+        }
+    }
+}
+
 /// A line that is no rule.
 #[derive(Debug, Clone, PartialEq, Eq)]
 pub struct ParseError {
@@ -95,22 +113,22 @@ impl Rules {
     }
 
     /// What becomes of a path, given the directories in which it lies.
-    pub fn verdict(&self, path: &str, is_dir: bool) -> Verdict {
+    pub fn verdict(&self, path: &str, kind: impl Into<Kind>) -> Verdict {
         let path = path.strip_prefix("./").unwrap_or(path);
         for (end, _) in path.match_indices('/') {
-            if let Verdict::Drop { line } = self.alone(&path[..end], true) {
+            if let Verdict::Drop { line } = self.alone(&path[..end], Kind::Dir) {
                 return Verdict::Drop { line };
             }
         }
-        self.alone(path, is_dir)
+        self.alone(path, kind.into())
     }
 
-    fn alone(&self, path: &str, is_dir: bool) -> Verdict {
+    fn alone(&self, path: &str, kind: Kind) -> Verdict {
         let decides = self
             .rules
             .iter()
             .rev()
-            .filter(|rule| is_dir || !rule.only_dirs)
+            .filter(|rule| kind == Kind::Dir || !rule.only_dirs)
             .find(|rule| rule.pattern.matches(path));
         match decides {
             Some(rule) if !rule.keeps => Verdict::Drop { line: rule.line },
@@ -153,6 +171,15 @@ mod tests {
         assert_eq!(rule("a").pattern, rule("**/a").pattern);
     }
 
+    #[test]
+    fn kinds_and_bools() {
+        let rules = Rules::parse("a/\n").unwrap();
+        assert_eq!(rules.verdict("a", Kind::File), Verdict::Keep);
+        assert_eq!(rules.verdict("a", Kind::Dir), Verdict::Drop { line: 1 });
+        assert_eq!(rules.verdict("a", false), Verdict::Keep);
+        assert_eq!(rules.verdict("a", true), Verdict::Drop { line: 1 });
+    }
+
     #[test]
     fn mistakes_have_lines() {
         let error = Rules::parse("*.o\n# [\n\n[a\n").unwrap_err();
PATCH
