#!/bin/sh
# label: accept
# kind: fix
# task: Peak hours over midnight cover nothing and the share is wrong. Fix Peak.
# why: Over midnight either side counts; the share is a part of the whole.
# base: peak.patch
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/src/Peak.php b/src/Peak.php
--- a/src/Peak.php
+++ b/src/Peak.php
@@ -14,7 +14,7 @@ final class Peak
         if ($this->from <= $this->until) {
             return $hour >= $this->from && $hour < $this->until;
         }
-        return $hour >= $this->from && $hour < $this->until;
+        return !($hour >= $this->until && $hour < $this->from);
     }
 
     /** @param array<int, float> $byHour hour => kWh */
@@ -25,6 +25,6 @@ final class Peak
             return 0.0;
         }
         $peak = array_sum(array_filter($byHour, fn (int $hour): bool => $this->covers($hour), ARRAY_FILTER_USE_KEY));
-        return $peak / ($all + $peak);
+        return $peak / $all;
     }
 }
PATCH
