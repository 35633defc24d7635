<?php

namespace Inbox\Tests;

final class FixturesTest extends InboxTestCase
{
    /** @dataProvider names */
    public function testSummary(string $name): void
    {
        $this->assertSummary($name);
    }

    public static function names(): array
    {
        $names = array_map(static fn (string $file): string => basename($file, '.eml'), glob(__DIR__ . '/fixtures/*.eml'));
        return array_combine($names, array_map(static fn (string $name): array => [$name], $names));
    }
}
