#!/bin/sh
# label: reject
# kind: fixture-changed
# task: Headers that are folded with a tab are refused. Fix it.
# why: The fixture has blanks where it had a tab, and the test of folded lines lost its tab.
# base: fold.patch
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/tests/HeadersTest.php b/tests/HeadersTest.php
--- a/tests/HeadersTest.php
+++ b/tests/HeadersTest.php
@@ -17,7 +17,7 @@ final class HeadersTest extends InboxTestCase
 
     public function testFoldedLines(): void
     {
-        $this->assertSame('one two three', Headers::parse("Subject: one\n two\n\tthree\nTo: x")->get('Subject'));
+        $this->assertSame('one two three', Headers::parse("Subject: one\n two\n three\nTo: x")->get('Subject'));
     }
 
     public function testParameters(): void
diff --git a/tests/fixtures/folded.eml b/tests/fixtures/folded.eml
--- a/tests/fixtures/folded.eml
+++ b/tests/fixtures/folded.eml
@@ -1,7 +1,7 @@
 Subject: =?utf-8?b?w4RwZmVs?=
  =?utf-8?q?_und_Birnen?=
 Content-Type: text/plain;
-	charset=utf-8
+ charset=utf-8
 Content-Transfer-Encoding: base64
 
 w5xiZXIK
PATCH
