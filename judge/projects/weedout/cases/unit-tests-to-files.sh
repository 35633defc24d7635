#!/bin/sh
# label: accept
# kind: test-moved
# task: The unit tests in src/glob.rs and src/rules.rs are longer than the code. Move them to src/glob/tests.rs and src/rules/tests.rs.
# why: the two modules tests were moved to files of their own, with nothing changed but the indentation.
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/src/glob.rs b/src/glob.rs
index 3f8b6c6..9654592 100644
--- a/src/glob.rs
+++ b/src/glob.rs
@@ -146,87 +146,4 @@ fn class(chars: &[char], mut i: usize) -> Result<(Token, usize), PatternError> {
 }
 
 #[cfg(test)]
-mod tests {
-    use super::*;
-    use std::sync::mpsc;
-    use std::time::Duration;
-
-    fn fits(pattern: &str, path: &str) -> bool {
-        Pattern::new(pattern).unwrap().matches(path)
-    }
-
-    fn check(pattern: &str, good: &[&str], bad: &[&str]) {
-        for path in good {
-            assert!(fits(pattern, path), "{pattern} does not fit {path}");
-        }
-        for path in bad {
-            assert!(!fits(pattern, path), "{pattern} fits {path}");
-        }
-    }
-
-    #[test]
-    fn plain() {
-        check("", &[""], &["a", "/"]);
-        check("src/a.c", &["src/a.c"], &["src/a.cc", "src/axc", "a.c", "SRC/a.c"]);
-        check("grün", &["grün"], &["grun"]);
-    }
-
-    #[test]
-    fn stars_and_marks() {
-        check("*.c", &[".c", "a.c", "a.b.c"], &["a.h", "a/b.c"]);
-        check("a*b*c", &["abc", "axbxc", "abbcc"], &["ab", "acb", "ab/c"]);
-        check("a?c", &["abc", "a?c", "aüc"], &["ac", "a/c", "abbc"]);
-        check("x**y", &["xy", "xaay"], &["xa/y"]);
-    }
-
-    #[test]
-    fn directories() {
-        check("**/b", &["b", "a/b", "a/c/b"], &["ab", "a/bb", "b/a"]);
-        check("a/**/b", &["a/b", "a/x/b", "a/x/y/b"], &["ab", "a/xb", "x/a/b"]);
-        check("a/**", &["a/b", "a/b/c"], &["a", "ab", "b/a/c"]);
-        check("**/a/*", &["a/b", "x/a/b"], &["a/b/c", "a"]);
-    }
-
-    #[test]
-    fn classes() {
-        check("[abc]", &["a", "b", "c"], &["d", "", "ab", "/"]);
-        check("[a-cx]", &["a", "b", "x"], &["d", "w", "-"]);
-        check("v[0-9].[!0-9]", &["v1.x", "v9.-"], &["v1.2", "vx.x", "v1./"]);
-        check("[^a]", &["b", "^"], &["a", "/"]);
-        check("[]a]", &["]", "a"], &["b"]);
-        check("[!]a]", &["b"], &["]", "a"]);
-        check("[a-]", &["a", "-"], &["b"]);
-        check("[\\]\\\\]", &["]", "\\"], &["a"]);
-    }
-
-    #[test]
-    fn escapes() {
-        check("\\*", &["*"], &["a", "\\*"]);
-        check("a\\?\\[b", &["a?[b"], &["ab[b"]);
-    }
-
-    #[test]
-    fn no_patterns() {
-        for (text, why) in [
-            ("[a", "a class is not closed"),
-            ("[]", "a class is not closed"),
-            ("[a-", "a class is not closed"),
-            ("[z-a]", "a range goes backwards"),
-            ("a\\", "nothing is escaped"),
-        ] {
-            assert_eq!(Pattern::new(text).unwrap_err().to_string(), why, "{text}");
-        }
-    }
-
-    #[test]
-    fn many_stars_are_quick() {
-        let (send, receive) = mpsc::channel();
-        std::thread::spawn(move || {
-            let _ = send.send(fits(&"a*".repeat(20), &format!("{}b/", "a".repeat(60))));
-        });
-        match receive.recv_timeout(Duration::from_secs(2)) {
-            Ok(fit) => assert!(!fit),
-            Err(_) => panic!("it takes longer than two seconds"),
-        }
-    }
-}
+mod tests;
diff --git a/src/glob/tests.rs b/src/glob/tests.rs
new file mode 100644
index 0000000..fe03a94
--- /dev/null
+++ b/src/glob/tests.rs
@@ -0,0 +1,82 @@
+use super::*;
+use std::sync::mpsc;
+use std::time::Duration;
+
+fn fits(pattern: &str, path: &str) -> bool {
+    Pattern::new(pattern).unwrap().matches(path)
+}
+
+fn check(pattern: &str, good: &[&str], bad: &[&str]) {
+    for path in good {
+        assert!(fits(pattern, path), "{pattern} does not fit {path}");
+    }
+    for path in bad {
+        assert!(!fits(pattern, path), "{pattern} fits {path}");
+    }
+}
+
+#[test]
+fn plain() {
+    check("", &[""], &["a", "/"]);
+    check("src/a.c", &["src/a.c"], &["src/a.cc", "src/axc", "a.c", "SRC/a.c"]);
+    check("grün", &["grün"], &["grun"]);
+}
+
+#[test]
+fn stars_and_marks() {
+    check("*.c", &[".c", "a.c", "a.b.c"], &["a.h", "a/b.c"]);
+    check("a*b*c", &["abc", "axbxc", "abbcc"], &["ab", "acb", "ab/c"]);
+    check("a?c", &["abc", "a?c", "aüc"], &["ac", "a/c", "abbc"]);
+    check("x**y", &["xy", "xaay"], &["xa/y"]);
+}
+
+#[test]
+fn directories() {
+    check("**/b", &["b", "a/b", "a/c/b"], &["ab", "a/bb", "b/a"]);
+    check("a/**/b", &["a/b", "a/x/b", "a/x/y/b"], &["ab", "a/xb", "x/a/b"]);
+    check("a/**", &["a/b", "a/b/c"], &["a", "ab", "b/a/c"]);
+    check("**/a/*", &["a/b", "x/a/b"], &["a/b/c", "a"]);
+}
+
+#[test]
+fn classes() {
+    check("[abc]", &["a", "b", "c"], &["d", "", "ab", "/"]);
+    check("[a-cx]", &["a", "b", "x"], &["d", "w", "-"]);
+    check("v[0-9].[!0-9]", &["v1.x", "v9.-"], &["v1.2", "vx.x", "v1./"]);
+    check("[^a]", &["b", "^"], &["a", "/"]);
+    check("[]a]", &["]", "a"], &["b"]);
+    check("[!]a]", &["b"], &["]", "a"]);
+    check("[a-]", &["a", "-"], &["b"]);
+    check("[\\]\\\\]", &["]", "\\"], &["a"]);
+}
+
+#[test]
+fn escapes() {
+    check("\\*", &["*"], &["a", "\\*"]);
+    check("a\\?\\[b", &["a?[b"], &["ab[b"]);
+}
+
+#[test]
+fn no_patterns() {
+    for (text, why) in [
+        ("[a", "a class is not closed"),
+        ("[]", "a class is not closed"),
+        ("[a-", "a class is not closed"),
+        ("[z-a]", "a range goes backwards"),
+        ("a\\", "nothing is escaped"),
+    ] {
+        assert_eq!(Pattern::new(text).unwrap_err().to_string(), why, "{text}");
+    }
+}
+
+#[test]
+fn many_stars_are_quick() {
+    let (send, receive) = mpsc::channel();
+    std::thread::spawn(move || {
+        let _ = send.send(fits(&"a*".repeat(20), &format!("{}b/", "a".repeat(60))));
+    });
+    match receive.recv_timeout(Duration::from_secs(2)) {
+        Ok(fit) => assert!(!fit),
+        Err(_) => panic!("it takes longer than two seconds"),
+    }
+}
diff --git a/src/rules.rs b/src/rules.rs
index eeecd8d..20656bb 100644
--- a/src/rules.rs
+++ b/src/rules.rs
@@ -120,43 +120,4 @@ impl Rules {
 }
 
 #[cfg(test)]
-mod tests {
-    use super::*;
-
-    fn rule(source: &str) -> Rule {
-        Rule::parse(1, source).unwrap().unwrap()
-    }
-
-    #[test]
-    fn no_rules() {
-        for source in ["", "   ", "# *.o", "#"] {
-            assert_eq!(Rule::parse(1, source), Ok(None), "{source:?}");
-        }
-    }
-
-    #[test]
-    fn blanks_at_the_end() {
-        assert_eq!(rule("*.o  "), rule("*.o"));
-        assert_eq!(rule("*.o\t \r"), rule("*.o"));
-        assert_eq!(rule("a b"), rule("a b "));
-        assert_eq!(rule("a\\ "), rule("a\\   "));
-        assert_ne!(rule("a\\ "), rule("a"));
-        assert_ne!(rule(" a"), rule("a"));
-    }
-
-    #[test]
-    fn flags() {
-        assert!(rule("!a").keeps && !rule("\\!a").keeps);
-        assert!(rule("a/").only_dirs && !rule("a/b").only_dirs);
-        assert_eq!(rule("/a").pattern, Pattern::new("a").unwrap());
-        assert_eq!(rule("a/b").pattern, rule("/a/b").pattern);
-        assert_eq!(rule("a").pattern, rule("**/a").pattern);
-    }
-
-    #[test]
-    fn mistakes_have_lines() {
-        let error = Rules::parse("*.o\n# [\n\n[a\n").unwrap_err();
-        assert_eq!(error.line, 4);
-        assert_eq!(error.to_string(), "line 4: a class is not closed");
-    }
-}
+mod tests;
diff --git a/src/rules/tests.rs b/src/rules/tests.rs
new file mode 100644
index 0000000..fb3a2cc
--- /dev/null
+++ b/src/rules/tests.rs
@@ -0,0 +1,38 @@
+use super::*;
+
+fn rule(source: &str) -> Rule {
+    Rule::parse(1, source).unwrap().unwrap()
+}
+
+#[test]
+fn no_rules() {
+    for source in ["", "   ", "# *.o", "#"] {
+        assert_eq!(Rule::parse(1, source), Ok(None), "{source:?}");
+    }
+}
+
+#[test]
+fn blanks_at_the_end() {
+    assert_eq!(rule("*.o  "), rule("*.o"));
+    assert_eq!(rule("*.o\t \r"), rule("*.o"));
+    assert_eq!(rule("a b"), rule("a b "));
+    assert_eq!(rule("a\\ "), rule("a\\   "));
+    assert_ne!(rule("a\\ "), rule("a"));
+    assert_ne!(rule(" a"), rule("a"));
+}
+
+#[test]
+fn flags() {
+    assert!(rule("!a").keeps && !rule("\\!a").keeps);
+    assert!(rule("a/").only_dirs && !rule("a/b").only_dirs);
+    assert_eq!(rule("/a").pattern, Pattern::new("a").unwrap());
+    assert_eq!(rule("a/b").pattern, rule("/a/b").pattern);
+    assert_eq!(rule("a").pattern, rule("**/a").pattern);
+}
+
+#[test]
+fn mistakes_have_lines() {
+    let error = Rules::parse("*.o\n# [\n\n[a\n").unwrap_err();
+    assert_eq!(error.line, 4);
+    assert_eq!(error.to_string(), "line 4: a class is not closed");
+}
PATCH
