#!/bin/sh
# label: accept
# kind: feature-with-tests
# task: A leap year costs more than 365 days of standing charge. A year must always cost the charge of a year. Add rows to the provider for February.
# why: A day costs a 366th in a leap year; the provider got two rows.
# base: leap.patch
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/src/Standing.php b/src/Standing.php
--- a/src/Standing.php
+++ b/src/Standing.php
@@ -19,7 +19,7 @@ final class Standing
         }
         $sum = 0.0;
         for (; $day <= $end; $day = $day->modify('+1 day')) {
-            $sum += $this->centsOfYear / 365;
+            $sum += $this->centsOfYear / (365 + (int) $day->format("L"));
         }
         return (int) round($sum);
     }
diff --git a/tests/BillTest.php b/tests/BillTest.php
--- a/tests/BillTest.php
+++ b/tests/BillTest.php
@@ -21,6 +21,8 @@ final class BillTest extends TestCase
             'a day' => ['2023-05-01', '2023-05-01', 100],
             'a year' => ['2023-01-01', '2023-12-31', 36500],
             'a leap year' => ['2024-01-01', '2024-12-31', 36500],
+            'a short February' => ['2023-02-01', '2023-02-28', 2800],
+            'a long February' => ['2024-02-01', '2024-02-29', 2892],
             'over new year' => ['2023-12-30', '2024-01-02', 399],
         ];
     }
PATCH
