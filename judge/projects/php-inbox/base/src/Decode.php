<?php

namespace Inbox;

final class Decode
{
    /** =?utf-8?q?Gr=C3=BC=C3=9Fe?= and =?iso-8859-1?b?...?=; blanks between two words are dropped. */
    public static function words(string $text): string
    {
        $text = preg_replace('/(\?=)\s+(=\?)/', '$1$2', $text);
        return preg_replace_callback('/=\?([\w-]+)\?([bBqQ])\?([^?]*)\?=/', static function (array $match): string {
            $bytes = strtolower($match[2]) === 'b'
                ? base64_decode($match[3])
                : quoted_printable_decode(str_replace('_', ' ', $match[3]));
            return self::utf8($bytes, $match[1]);
        }, $text);
    }

    public static function body(string $bytes, string $encoding, string $charset): string
    {
        $plain = match (strtolower($encoding)) {
            'base64' => base64_decode($bytes),
            'quoted-printable' => quoted_printable_decode($bytes),
            default => $bytes,
        };
        return self::utf8($plain, $charset);
    }

    private static function utf8(string $bytes, string $charset): string
    {
        return match (strtolower($charset)) {
            'utf-8', 'us-ascii' => $bytes,
            'iso-8859-1' => preg_replace_callback('/[\x80-\xff]/', static function (array $match): string {
                $code = ord($match[0]);
                return chr(0xC0 | ($code >> 6)) . chr(0x80 | ($code & 0x3F));
            }, $bytes),
            default => throw new ParseError("unknown charset $charset"),
        };
    }
}
