<?php

namespace Tariff;

/** The standing charge of a year, by days. */
final class Standing
{
    public function __construct(private int $centsOfYear)
    {
    }

    /** Cents for the days from the first to the last, both included. */
    public function charge(string $first, string $last): int
    {
        $day = new \DateTimeImmutable($first, new \DateTimeZone('UTC'));
        $end = new \DateTimeImmutable($last, new \DateTimeZone('UTC'));
        if ($end < $day) {
            throw new \InvalidArgumentException("$last is before $first");
        }
        $sum = 0.0;
        for (; $day <= $end; $day = $day->modify('+1 day')) {
            $sum += $this->centsOfYear / ($day->format('L') === '1' ? 366 : 365);
        }
        return (int) round($sum);
    }
}
