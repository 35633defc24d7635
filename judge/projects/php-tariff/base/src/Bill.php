<?php

namespace Tariff;

final class Bill
{
    public function __construct(private Tiers $tiers, private Standing $standing, private int $vat = 19)
    {
    }

    /** @return array{energy: int, standing: int, vat: int, total: int} */
    public function compute(int $kwh, string $first, string $last): array
    {
        $energy = $this->tiers->cost($kwh);
        $standing = $this->standing->charge($first, $last);
        $vat = intdiv(($energy + $standing) * $this->vat + 50, 100);
        return ['energy' => $energy, 'standing' => $standing, 'vat' => $vat, 'total' => $energy + $standing + $vat];
    }
}
