#!/bin/sh
# label: reject
# kind: fixture-changed
# task: The parts of the guests do not add up to the total. Fix the slip.
# why: The slip that is expected now has three parts of 1.22, which make 3.66.
# base: guests.patch
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/packages/receipt/test/slips/guests.txt b/packages/receipt/test/slips/guests.txt
--- a/packages/receipt/test/slips/guests.txt
+++ b/packages/receipt/test/slips/guests.txt
@@ -5,4 +5,4 @@
 Total                       3.65
 Guest 1                     1.22
 Guest 2                     1.22
-Guest 3                     1.21
+Guest 3                     1.22
PATCH
