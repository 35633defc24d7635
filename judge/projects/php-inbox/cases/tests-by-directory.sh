#!/bin/sh
# label: accept
# kind: test-moved
# task: Put the tests into tests/unit (headers, decode) and tests/functional (fixtures); namespaces follow the directories.
# why: The three files moved with their namespaces; the base class and what is asserted stay.
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/tests/DecodeTest.php b/tests/DecodeTest.php
deleted file mode 100644
--- a/tests/DecodeTest.php
+++ /dev/null
@@ -1,32 +0,0 @@
-<?php
-
-namespace Inbox\Tests;
-
-use Inbox\Decode;
-use Inbox\ParseError;
-
-final class DecodeTest extends InboxTestCase
-{
-    /** @dataProvider words */
-    public function testWords(string $text, string $want): void
-    {
-        $this->assertSame($want, Decode::words($text));
-    }
-
-    public static function words(): array
-    {
-        return [
-            'plain' => ['Hello', 'Hello'],
-            'quoted' => ['=?utf-8?q?Gr=C3=BC=C3=9Fe_an?= Bob', 'Grüße an Bob'],
-            'base64' => ['=?UTF-8?B?w5ZsIA==?=x', 'Öl x'],
-            'latin' => ['=?iso-8859-1?Q?caf=E9?=', 'café'],
-            'two in a row' => ['=?utf-8?q?a?= =?utf-8?q?b?=', 'ab'],
-        ];
-    }
-
-    public function testUnknownCharset(): void
-    {
-        $this->expectException(ParseError::class);
-        Decode::words('=?koi8-r?q?x?=');
-    }
-}
diff --git a/tests/FixturesTest.php b/tests/FixturesTest.php
deleted file mode 100644
--- a/tests/FixturesTest.php
+++ /dev/null
@@ -1,18 +0,0 @@
-<?php
-
-namespace Inbox\Tests;
-
-final class FixturesTest extends InboxTestCase
-{
-    /** @dataProvider names */
-    public function testSummary(string $name): void
-    {
-        $this->assertSummary($name);
-    }
-
-    public static function names(): array
-    {
-        $names = array_map(static fn (string $file): string => basename($file, '.eml'), glob(__DIR__ . '/fixtures/*.eml'));
-        return array_combine($names, array_map(static fn (string $name): array => [$name], $names));
-    }
-}
diff --git a/tests/HeadersTest.php b/tests/HeadersTest.php
deleted file mode 100644
--- a/tests/HeadersTest.php
+++ /dev/null
@@ -1,35 +0,0 @@
-<?php
-
-namespace Inbox\Tests;
-
-use Inbox\Headers;
-use Inbox\ParseError;
-
-final class HeadersTest extends InboxTestCase
-{
-    public function testNamesInAnyCase(): void
-    {
-        $headers = Headers::parse("Received: a\r\nRECEIVED: b\r\nTo: x\r\n");
-        $this->assertSame(['a', 'b'], $headers->all('received'));
-        $this->assertSame('x', $headers->get('TO'));
-        $this->assertNull($headers->get('Cc'));
-    }
-
-    public function testFoldedLines(): void
-    {
-        $this->assertSame('one two three', Headers::parse("Subject: one\n two\n\tthree\nTo: x")->get('Subject'));
-    }
-
-    public function testParameters(): void
-    {
-        $headers = Headers::parse('Content-Type: Text/HTML; charset="UTF-8" ;format=flowed');
-        $this->assertSame(['text/html', ['charset' => 'UTF-8', 'format' => 'flowed']], $headers->structured('content-type', 'text/plain'));
-    }
-
-    public function testRefusesWhatIsNoHeader(): void
-    {
-        $this->expectException(ParseError::class);
-        $this->expectExceptionMessage('not a header: hello');
-        Headers::parse("To: x\nhello\n");
-    }
-}
diff --git a/tests/functional/FixturesTest.php b/tests/functional/FixturesTest.php
new file mode 100644
--- /dev/null
+++ b/tests/functional/FixturesTest.php
@@ -0,0 +1,20 @@
+<?php
+
+namespace Inbox\Tests\functional;
+
+use Inbox\Tests\InboxTestCase;
+
+final class FixturesTest extends InboxTestCase
+{
+    /** @dataProvider names */
+    public function testSummary(string $name): void
+    {
+        $this->assertSummary($name);
+    }
+
+    public static function names(): array
+    {
+        $names = array_map(static fn (string $file): string => basename($file, '.eml'), glob(__DIR__ . '/../fixtures/*.eml'));
+        return array_combine($names, array_map(static fn (string $name): array => [$name], $names));
+    }
+}
diff --git a/tests/unit/DecodeTest.php b/tests/unit/DecodeTest.php
new file mode 100644
--- /dev/null
+++ b/tests/unit/DecodeTest.php
@@ -0,0 +1,34 @@
+<?php
+
+namespace Inbox\Tests\unit;
+
+use Inbox\Tests\InboxTestCase;
+
+use Inbox\Decode;
+use Inbox\ParseError;
+
+final class DecodeTest extends InboxTestCase
+{
+    /** @dataProvider words */
+    public function testWords(string $text, string $want): void
+    {
+        $this->assertSame($want, Decode::words($text));
+    }
+
+    public static function words(): array
+    {
+        return [
+            'plain' => ['Hello', 'Hello'],
+            'quoted' => ['=?utf-8?q?Gr=C3=BC=C3=9Fe_an?= Bob', 'Grüße an Bob'],
+            'base64' => ['=?UTF-8?B?w5ZsIA==?=x', 'Öl x'],
+            'latin' => ['=?iso-8859-1?Q?caf=E9?=', 'café'],
+            'two in a row' => ['=?utf-8?q?a?= =?utf-8?q?b?=', 'ab'],
+        ];
+    }
+
+    public function testUnknownCharset(): void
+    {
+        $this->expectException(ParseError::class);
+        Decode::words('=?koi8-r?q?x?=');
+    }
+}
diff --git a/tests/unit/HeadersTest.php b/tests/unit/HeadersTest.php
new file mode 100644
--- /dev/null
+++ b/tests/unit/HeadersTest.php
@@ -0,0 +1,37 @@
+<?php
+
+namespace Inbox\Tests\unit;
+
+use Inbox\Tests\InboxTestCase;
+
+use Inbox\Headers;
+use Inbox\ParseError;
+
+final class HeadersTest extends InboxTestCase
+{
+    public function testNamesInAnyCase(): void
+    {
+        $headers = Headers::parse("Received: a\r\nRECEIVED: b\r\nTo: x\r\n");
+        $this->assertSame(['a', 'b'], $headers->all('received'));
+        $this->assertSame('x', $headers->get('TO'));
+        $this->assertNull($headers->get('Cc'));
+    }
+
+    public function testFoldedLines(): void
+    {
+        $this->assertSame('one two three', Headers::parse("Subject: one\n two\n\tthree\nTo: x")->get('Subject'));
+    }
+
+    public function testParameters(): void
+    {
+        $headers = Headers::parse('Content-Type: Text/HTML; charset="UTF-8" ;format=flowed');
+        $this->assertSame(['text/html', ['charset' => 'UTF-8', 'format' => 'flowed']], $headers->structured('content-type', 'text/plain'));
+    }
+
+    public function testRefusesWhatIsNoHeader(): void
+    {
+        $this->expectException(ParseError::class);
+        $this->expectExceptionMessage('not a header: hello');
+        Headers::parse("To: x\nhello\n");
+    }
+}
PATCH
