<?php

namespace Tariff\Tests;

use PHPUnit\Framework\TestCase;
use Tariff\Peak;

final class PeakTest extends TestCase
{
    /** @dataProvider hours */
    public function testCovers(int $from, int $until, array $covered): void
    {
        $peak = new Peak($from, $until);
        $this->assertSame($covered, array_values(array_filter(range(0, 23), [$peak, 'covers'])));
    }

    public function hours(): iterable
    {
        yield 'by day' => [7, 10, [7, 8, 9]];
        yield 'over midnight' => [22, 2, [0, 1, 22, 23]];
        yield 'until midnight' => [20, 24, [20, 21, 22, 23]];
    }

    public function testShare(): void
    {
        $share = (new Peak(7, 10))->share([6 => 1.0, 7 => 2.0, 9 => 1.0, 10 => 4.0]);
        $this->assertTrue(abs($share - 0.375) < 1e-9, "share is $share");
    }

    public function testShareOfNothing(): void
    {
        $this->assertSame(0.0, (new Peak(7, 10))->share([]));
    }
}
