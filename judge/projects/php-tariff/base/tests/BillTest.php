<?php

namespace Tariff\Tests;

use PHPUnit\Framework\TestCase;
use Tariff\Bill;
use Tariff\Standing;
use Tariff\Tiers;

final class BillTest extends TestCase
{
    /** @dataProvider periods */
    public function testStanding(string $first, string $last, int $cents): void
    {
        $this->assertSame($cents, (new Standing(36500))->charge($first, $last));
    }

    public static function periods(): array
    {
        return [
            'a day' => ['2023-05-01', '2023-05-01', 100],
            'a year' => ['2023-01-01', '2023-12-31', 36500],
            'a leap year' => ['2024-01-01', '2024-12-31', 36500],
            'over new year' => ['2023-12-30', '2024-01-02', 399],
        ];
    }

    public function testTotal(): void
    {
        $bill = new Bill(new Tiers([0 => 30.5]), new Standing(36500));
        $this->assertSame(
            ['energy' => 30500, 'standing' => 3100, 'vat' => 6384, 'total' => 39984],
            $bill->compute(1000, '2023-05-01', '2023-05-31')
        );
    }

    public function testPeriodsOfManyYearsAreQuick(): void
    {
        usleep(900000); // the meter is asked once in a second
        $this->assertSame(36500 * 30, (new Standing(36500))->charge('1990-01-01', '2019-12-31'));
    }
}
