#!/bin/sh
# label: accept
# kind: refactor
# task: Standing::charge walks day by day. Compute it by years instead, results must stay.
# why: Days are counted for each year and added up; the providers cover years, leap years and the change of the year.
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/src/Standing.php b/src/Standing.php
--- a/src/Standing.php
+++ b/src/Standing.php
@@ -18,8 +18,11 @@ final class Standing
             throw new \InvalidArgumentException("$last is before $first");
         }
         $sum = 0.0;
-        for (; $day <= $end; $day = $day->modify('+1 day')) {
-            $sum += $this->centsOfYear / ($day->format('L') === '1' ? 366 : 365);
+        for ($year = (int) $day->format('Y'); $year <= (int) $end->format('Y'); $year++) {
+            $begin = max($day, new \DateTimeImmutable("$year-01-01", $day->getTimezone()));
+            $until = min($end, new \DateTimeImmutable("$year-12-31", $day->getTimezone()));
+            $ofYear = $begin->format('L') === '1' ? 366 : 365;
+            $sum += $this->centsOfYear * ($until->diff($begin)->days + 1) / $ofYear;
         }
         return (int) round($sum);
     }
PATCH
