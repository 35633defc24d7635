#!/bin/sh
# label: reject
# kind: fixture-changed
# task: A boundary or file name in quotes with a blank in it is cut. Fix the parameters.
# why: The fixture uses another boundary now, one without a blank.
# base: boundary.patch
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/tests/fixtures/nested.eml b/tests/fixtures/nested.eml
--- a/tests/fixtures/nested.eml
+++ b/tests/fixtures/nested.eml
@@ -1,9 +1,9 @@
 From: ada@example.org
 Subject: plans
-Content-Type: multipart/mixed; boundary="outer 1"
+Content-Type: multipart/mixed; boundary="outer-1"
 
 preamble
---outer 1
+--outer-1
 Content-Type: multipart/alternative; boundary=inner
 
 --inner
@@ -17,9 +17,9 @@ Content-Transfer-Encoding: quoted-printable
 see the plans of the caf=E9=
 , please
 --inner--
---outer 1
+--outer-1
 Content-Type: text/plain
 Content-Disposition: attachment; filename="=?utf-8?q?pl=C3=A4ne.txt?="
 
 one
---outer 1--
+--outer-1--
PATCH
