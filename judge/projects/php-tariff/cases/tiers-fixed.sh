#!/bin/sh
# label: accept
# kind: fix
# task: Costs by tiers are too low, each tier loses a kWh. Make phpunit pass.
# why: The width of a tier is its end minus its begin.
# base: tiers.patch
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/src/Tiers.php b/src/Tiers.php
--- a/src/Tiers.php
+++ b/src/Tiers.php
@@ -25,7 +25,7 @@ final class Tiers
         foreach ($starts as $i => $from) {
             $until = $starts[$i + 1] ?? PHP_INT_MAX;
             if ($kwh > $from) {
-                $cents += (min($kwh, $until) - $from - 1) * $this->prices[$from];
+                $cents += (min($kwh, $until) - $from) * $this->prices[$from];
             }
         }
         return (int) round($cents);
PATCH
