#!/bin/sh
# label: accept
# kind: formatting-of-tests
# task: Begin with rustfmt: settings of 80 columns, and format what is in tests/. The sources follow later.
# why: rustfmt.toml is new and the three files are as rustfmt writes them; not a word was changed.
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/rustfmt.toml b/rustfmt.toml
new file mode 100644
index 0000000..df99c69
--- /dev/null
+++ b/rustfmt.toml
@@ -0,0 +1 @@
+max_width = 80
diff --git a/tests/command.rs b/tests/command.rs
index e2470f6..2b4aae3 100644
--- a/tests/command.rs
+++ b/tests/command.rs
@@ -6,22 +6,38 @@ use common::{data, weedout};
 
 #[test]
 fn prints_what_is_kept() {
-    let out = weedout(&[data("web.rules").to_str().unwrap()], "index.html\n./app.js.map\nnode_modules/x/index.js\n");
+    let out = weedout(
+        &[data("web.rules").to_str().unwrap()],
+        "index.html\n./app.js.map\nnode_modules/x/index.js\n",
+    );
     assert!(out.status.success());
     assert_eq!(String::from_utf8_lossy(&out.stdout), "index.html\n");
 }
 
 #[test]
 fn prints_reasons() {
-    let out = weedout(&["--explain", data("web.rules").to_str().unwrap()], "app.js.map\nlib/\n");
-    assert_eq!(String::from_utf8_lossy(&out.stdout), "drop app.js.map (line 3: *.map)\nkeep lib/\n");
+    let out = weedout(
+        &["--explain", data("web.rules").to_str().unwrap()],
+        "app.js.map\nlib/\n",
+    );
+    assert_eq!(
+        String::from_utf8_lossy(&out.stdout),
+        "drop app.js.map (line 3: *.map)\nkeep lib/\n"
+    );
 }
 
 #[test]
 fn says_what_is_wrong() {
     for (args, want) in [
-        (vec![], "weedout: usage: weedout [--explain] RULES < PATHS\n".to_string()),
-        (vec!["/nowhere/rules"], "weedout: /nowhere/rules: No such file or directory (os error 2)\n".to_string()),
+        (
+            vec![],
+            "weedout: usage: weedout [--explain] RULES < PATHS\n".to_string(),
+        ),
+        (
+            vec!["/nowhere/rules"],
+            "weedout: /nowhere/rules: No such file or directory (os error 2)\n"
+                .to_string(),
+        ),
     ] {
         let out = weedout(&args, "a\n");
         assert_eq!(out.status.code(), Some(2));
diff --git a/tests/common/mod.rs b/tests/common/mod.rs
index c089257..8998ad5 100644
--- a/tests/common/mod.rs
+++ b/tests/common/mod.rs
@@ -7,11 +7,14 @@ use std::path::PathBuf;
 use std::process::{Command, Output, Stdio};
 
 pub fn data(name: &str) -> PathBuf {
-    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
+    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
+        .join("tests/data")
+        .join(name)
 }
 
 pub fn read(name: &str) -> String {
-    fs::read_to_string(data(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
+    fs::read_to_string(data(name))
+        .unwrap_or_else(|error| panic!("{name}: {error}"))
 }
 
 /// Compares with a file of tests/data, line by line for the sake of the message.
diff --git a/tests/lists.rs b/tests/lists.rs
index a188912..76d0273 100644
--- a/tests/lists.rs
+++ b/tests/lists.rs
@@ -7,7 +7,10 @@ use weedout::{explain, kept, Rules};
 
 fn explained(name: &str) {
     let rules = Rules::parse(&read(&format!("{name}.rules"))).unwrap();
-    golden(&format!("{name}.explained"), &explain(&rules, &read("tree.paths")));
+    golden(
+        &format!("{name}.explained"),
+        &explain(&rules, &read("tree.paths")),
+    );
 }
 
 #[test]
@@ -32,7 +35,11 @@ fn a_big_list() {
     let rules = Rules::parse("*.o\n/build/\n**/gen/*.c\n[._]*\n").unwrap();
     let mut list = String::new();
     for i in 0..4000 {
-        list.push_str(&format!("src/part{}/gen/file{i}.{}\n", i % 17, ["c", "h", "o"][i % 3]));
+        list.push_str(&format!(
+            "src/part{}/gen/file{i}.{}\n",
+            i % 17,
+            ["c", "h", "o"][i % 3]
+        ));
     }
     assert_eq!(kept(&rules, &list).len(), 1333);
 }
PATCH
