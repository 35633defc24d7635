<?php

namespace Inbox\Tests;

use Inbox\Decode;
use Inbox\ParseError;

final class DecodeTest extends InboxTestCase
{
    /** @dataProvider words */
    public function testWords(string $text, string $want): void
    {
        $this->assertSame($want, Decode::words($text));
    }

    public static function words(): array
    {
        return [
            'plain' => ['Hello', 'Hello'],
            'quoted' => ['=?utf-8?q?Gr=C3=BC=C3=9Fe_an?= Bob', 'Grüße an Bob'],
            'base64' => ['=?UTF-8?B?w5ZsIA==?=x', 'Öl x'],
            'latin' => ['=?iso-8859-1?Q?caf=E9?=', 'café'],
            'two in a row' => ['=?utf-8?q?a?= =?utf-8?q?b?=', 'ab'],
        ];
    }

    public function testUnknownCharset(): void
    {
        $this->expectException(ParseError::class);
        Decode::words('=?koi8-r?q?x?=');
    }
}
