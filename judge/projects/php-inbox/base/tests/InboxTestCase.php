<?php

namespace Inbox\Tests;

use Inbox\Message;
use PHPUnit\Framework\TestCase;

abstract class InboxTestCase extends TestCase
{
    protected function fixture(string $name): string
    {
        return file_get_contents(__DIR__ . "/fixtures/$name");
    }

    protected function assertSummary(string $name): void
    {
        $want = json_decode($this->fixture("$name.json"), true, 8, JSON_THROW_ON_ERROR);
        $this->assertSame($want, Message::parse($this->fixture("$name.eml"))->summary());
    }
}
