<?php

use PHPUnit\Framework\TestCase;

final class InboxTest extends TestCase
{
    private function ask(string $mail): array
    {
        $file = tempnam(sys_get_temp_dir(), 'mail');
        file_put_contents($file, $mail);
        exec('env -i PATH=' . escapeshellarg(getenv('PATH')) . ' php bin/inbox ' . escapeshellarg($file) . ' 2>&1', $out, $code);
        unlink($file);
        return [$code, implode("\n", $out)];
    }

    public function testMails(): void
    {
        $cases = [
            ["Subject: a =?utf-8?q?b?=  =?utf-8?b?Yw==?= d\n\nx", '{"subject":"a bc d","text":"x","attachments":[]}'],
            ["sUBJECT: =?ISO-8859-1?q?=FCber_alles?=\r\n\r\ny\r\n", '{"subject":"über alles","text":"y\r\n","attachments":[]}'],
            ["Content-Type: multipart/mixed; boundary=\"b b\"\n\n--b b\nContent-Disposition: attachment; filename=\"a b.pdf\"\n\nPDF\n--b b\nContent-Type: text/plain; charset=\"utf-8\"\nContent-Transfer-Encoding: BASE64\n\nw6Q=\n--b b--\nrest",
                '{"subject":"","text":"ä","attachments":["a b.pdf"]}'],
            ["Content-Type: text/html\nX-Long: a\n\tb\n\n<p>", '{"subject":"","text":null,"attachments":[]}'],
        ];
        foreach ($cases as [$mail, $want]) {
            $this->assertSame([0, str_replace(["\r", "\n"], ['\r', '\n'], $want)], $this->ask($mail));
        }
    }

    public function testErrors(): void
    {
        $cases = [
            ["oops\n\nx", 'not a header: oops'],
            ["Content-Type: multipart/mixed\n\nx", 'a multipart without boundary'],
            ["Content-Type: multipart/mixed; boundary=q\n\n--q\n\nx\n", 'the boundary q is never closed'],
            ["Subject: =?utf-7?q?x?=\n\nx", 'unknown charset utf-7'],
        ];
        foreach ($cases as [$mail, $want]) {
            $this->assertSame([1, $want], $this->ask($mail));
        }
    }
}
