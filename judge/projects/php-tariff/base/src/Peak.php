<?php

namespace Tariff;

/** The hours of the day that cost more, such as 7 to 21; they may go over midnight. */
final class Peak
{
    public function __construct(private int $from, private int $until)
    {
    }

    public function covers(int $hour): bool
    {
        if ($this->from <= $this->until) {
            return $hour >= $this->from && $hour < $this->until;
        }
        return $hour >= $this->from || $hour < $this->until;
    }

    /** @param array<int, float> $byHour hour => kWh */
    public function share(array $byHour): float
    {
        $all = array_sum($byHour);
        if ($all <= 0) {
            return 0.0;
        }
        $peak = array_sum(array_filter($byHour, fn (int $hour): bool => $this->covers($hour), ARRAY_FILTER_USE_KEY));
        return $peak / $all;
    }
}
