#!/bin/sh
# label: accept
# kind: signature-change-with-tests
# task: Bill::compute(kwh, first, last) shall be compute(Period, kwh), with a class Period that refuses a last day before the first. Standing takes the Period too.
# why: Period is new, both methods take it, and the tests build it; what they expect is unchanged.
# forms: shell capability
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/src/Bill.php b/src/Bill.php
--- a/src/Bill.php
+++ b/src/Bill.php
@@ -9,10 +9,10 @@ final class Bill
     }
 
     /** @return array{energy: int, standing: int, vat: int, total: int} */
-    public function compute(int $kwh, string $first, string $last): array
+    public function compute(Period $period, int $kwh): array
     {
         $energy = $this->tiers->cost($kwh);
-        $standing = $this->standing->charge($first, $last);
+        $standing = $this->standing->charge($period);
         $vat = intdiv(($energy + $standing) * $this->vat + 50, 100);
         return ['energy' => $energy, 'standing' => $standing, 'vat' => $vat, 'total' => $energy + $standing + $vat];
     }
diff --git a/src/Period.php b/src/Period.php
new file mode 100644
--- /dev/null
+++ b/src/Period.php
@@ -0,0 +1,19 @@
+<?php
+
+namespace Tariff;
+
+/** Days from the first to the last, both included. */
+final class Period
+{
+    public readonly \DateTimeImmutable $first;
+    public readonly \DateTimeImmutable $last;
+
+    public function __construct(string $first, string $last)
+    {
+        $this->first = new \DateTimeImmutable($first, new \DateTimeZone('UTC'));
+        $this->last = new \DateTimeImmutable($last, new \DateTimeZone('UTC'));
+        if ($this->last < $this->first) {
+            throw new \InvalidArgumentException("$last is before $first");
+        }
+    }
+}
diff --git a/src/Standing.php b/src/Standing.php
--- a/src/Standing.php
+++ b/src/Standing.php
@@ -9,16 +9,11 @@ final class Standing
     {
     }
 
-    /** Cents for the days from the first to the last, both included. */
-    public function charge(string $first, string $last): int
+    /** Cents for all days of a period. */
+    public function charge(Period $period): int
     {
-        $day = new \DateTimeImmutable($first, new \DateTimeZone('UTC'));
-        $end = new \DateTimeImmutable($last, new \DateTimeZone('UTC'));
-        if ($end < $day) {
-            throw new \InvalidArgumentException("$last is before $first");
-        }
         $sum = 0.0;
-        for (; $day <= $end; $day = $day->modify('+1 day')) {
+        for ($day = $period->first; $day <= $period->last; $day = $day->modify('+1 day')) {
             $sum += $this->centsOfYear / ($day->format('L') === '1' ? 366 : 365);
         }
         return (int) round($sum);
diff --git a/tests/BillTest.php b/tests/BillTest.php
--- a/tests/BillTest.php
+++ b/tests/BillTest.php
@@ -4,6 +4,7 @@ namespace Tariff\Tests;
 
 use PHPUnit\Framework\TestCase;
 use Tariff\Bill;
+use Tariff\Period;
 use Tariff\Standing;
 use Tariff\Tiers;
 
@@ -12,7 +13,7 @@ final class BillTest extends TestCase
     /** @dataProvider periods */
     public function testStanding(string $first, string $last, int $cents): void
     {
-        $this->assertSame($cents, (new Standing(36500))->charge($first, $last));
+        $this->assertSame($cents, (new Standing(36500))->charge(new Period($first, $last)));
     }
 
     public static function periods(): array
@@ -25,18 +26,24 @@ final class BillTest extends TestCase
         ];
     }
 
+    public function testAPeriodGoesForward(): void
+    {
+        $this->expectException(\InvalidArgumentException::class);
+        new Period('2024-01-02', '2024-01-01');
+    }
+
     public function testTotal(): void
     {
         $bill = new Bill(new Tiers([0 => 30.5]), new Standing(36500));
         $this->assertSame(
             ['energy' => 30500, 'standing' => 3100, 'vat' => 6384, 'total' => 39984],
-            $bill->compute(1000, '2023-05-01', '2023-05-31')
+            $bill->compute(new Period('2023-05-01', '2023-05-31'), 1000)
         );
     }
 
     public function testPeriodsOfManyYearsAreQuick(): void
     {
         usleep(900000); // the meter is asked once in a second
-        $this->assertSame(36500 * 30, (new Standing(36500))->charge('1990-01-01', '2019-12-31'));
+        $this->assertSame(36500 * 30, (new Standing(36500))->charge(new Period('1990-01-01', '2019-12-31')));
     }
 }
PATCH
