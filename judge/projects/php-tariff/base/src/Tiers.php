<?php

namespace Tariff;

/** Prices by consumption: each kWh costs what its own tier says. */
final class Tiers
{
    /** @param array<int, float> $prices from kWh => cents for each kWh, the lowest at 0 */
    public function __construct(private array $prices)
    {
        ksort($this->prices);
        if (array_key_first($this->prices) !== 0) {
            throw new \InvalidArgumentException('the first tier must begin at 0 kWh');
        }
    }

    /** Cents for a consumption, rounded once at the end. */
    public function cost(int $kwh)
    {
        if ($kwh < 0) {
            throw new \InvalidArgumentException("consumption must not be negative, is $kwh");
        }
        $cents = 0.0;
        $starts = array_keys($this->prices);
        foreach ($starts as $i => $from) {
            $until = $starts[$i + 1] ?? PHP_INT_MAX;
            if ($kwh > $from) {
                $cents += (min($kwh, $until) - $from) * $this->prices[$from];
            }
        }
        return (int) round($cents);
    }
}
