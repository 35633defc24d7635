<?php

namespace Inbox\Tests;

use Inbox\Headers;
use Inbox\ParseError;

final class HeadersTest extends InboxTestCase
{
    public function testNamesInAnyCase(): void
    {
        $headers = Headers::parse("Received: a\r\nRECEIVED: b\r\nTo: x\r\n");
        $this->assertSame(['a', 'b'], $headers->all('received'));
        $this->assertSame('x', $headers->get('TO'));
        $this->assertNull($headers->get('Cc'));
    }

    public function testFoldedLines(): void
    {
        $this->assertSame('one two three', Headers::parse("Subject: one\n two\n\tthree\nTo: x")->get('Subject'));
    }

    public function testParameters(): void
    {
        $headers = Headers::parse('Content-Type: Text/HTML; charset="UTF-8" ;format=flowed');
        $this->assertSame(['text/html', ['charset' => 'UTF-8', 'format' => 'flowed']], $headers->structured('content-type', 'text/plain'));
    }

    public function testRefusesWhatIsNoHeader(): void
    {
        $this->expectException(ParseError::class);
        $this->expectExceptionMessage('not a header: hello');
        Headers::parse("To: x\nhello\n");
    }
}
