<?php

namespace Inbox;

/** A message or a part of one. */
final class Message
{
    /** @param Message[] $parts */
    private function __construct(public readonly Headers $headers, private string $raw, public readonly array $parts)
    {
    }

    public static function parse(string $text): self
    {
        $halves = preg_split('/\r?\n\r?\n/', $text, 2);
        $headers = Headers::parse($halves[0]);
        $body = $halves[1] ?? '';
        [$type, $parameters] = $headers->structured('Content-Type', 'text/plain');
        if (!str_starts_with($type, 'multipart/')) {
            return new self($headers, $body, []);
        }
        if (!isset($parameters['boundary'])) {
            throw new ParseError('a multipart without boundary');
        }
        return new self($headers, $body, self::split($body, $parameters['boundary']));
    }

    /** @return Message[] */
    private static function split(string $body, string $boundary): array
    {
        $parts = [];
        $lines = null;
        foreach (preg_split('/\r?\n/', $body) as $line) {
            if (rtrim($line) === "--$boundary" || rtrim($line) === "--$boundary--") {
                if ($lines !== null) {
                    $parts[] = self::parse(implode("\n", $lines));
                }
                $lines = [];
                if (rtrim($line) === "--$boundary--") {
                    return $parts;
                }
            } elseif ($lines !== null) {
                $lines[] = $line;
            }
        }
        throw new ParseError("the boundary $boundary is never closed");
    }

    public function subject(): string
    {
        return Decode::words($this->headers->get('Subject') ?? '');
    }

    /** The first part of the type, decoded, or null. */
    public function text(string $wanted = 'text/plain'): ?string
    {
        foreach ($this->parts as $part) {
            $found = $part->text($wanted);
            if ($found !== null) {
                return $found;
            }
        }
        [$type, $parameters] = $this->headers->structured('Content-Type', 'text/plain');
        if ($this->parts !== [] || $type !== $wanted || $this->fileName() !== null) {
            return null;
        }
        return Decode::body($this->raw, $this->headers->get('Content-Transfer-Encoding') ?? '7bit', $parameters['charset'] ?? 'us-ascii');
    }

    public function fileName(): ?string
    {
        [$kind, $parameters] = $this->headers->structured('Content-Disposition', 'inline');
        return $kind === 'attachment' ? Decode::words($parameters['filename'] ?? 'unnamed') : null;
    }

    /** @return string[] */
    public function attachments(): array
    {
        $names = $this->fileName() === null ? [] : [$this->fileName()];
        foreach ($this->parts as $part) {
            array_push($names, ...$part->attachments());
        }
        return $names;
    }

    public function summary(): array
    {
        return ['subject' => $this->subject(), 'text' => $this->text(), 'attachments' => $this->attachments()];
    }
}
