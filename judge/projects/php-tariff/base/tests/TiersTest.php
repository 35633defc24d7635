<?php

namespace Tariff\Tests;

use PHPUnit\Framework\TestCase;
use Tariff\Tiers;

final class TiersTest extends TestCase
{
    private function tiers(): Tiers
    {
        return new Tiers([100 => 20.0, 0 => 30.5, 1000 => 15.25]);
    }

    /** @dataProvider consumptions */
    public function testCost(int $kwh, int $cents): void
    {
        $this->assertEquals($cents, $this->tiers()->cost($kwh));
    }

    public function consumptions(): array
    {
        return [
            'nothing' => [0, 0],
            'one' => [1, 31],
            'end of the first tier' => [100, 3050],
            'begin of the second' => [101, 3070],
            'end of the second' => [1000, 21050],
            'third' => [1001, 21065],
            'far above' => [5000, 82050],
        ];
    }

    public function testRefusesNegativeConsumption(): void
    {
        $this->expectException(\InvalidArgumentException::class);
        $this->expectExceptionMessage('is -1');
        $this->tiers()->cost(-1);
    }

    public function testNeedsATierAtZero(): void
    {
        $this->expectException(\InvalidArgumentException::class);
        new Tiers([10 => 1.0]);
    }
}
