<?php

namespace Inbox;

/** The headers of a message; names are found in any case. */
final class Headers
{
    /** @var array<string, string[]> */
    private array $values = [];

    public static function parse(string $text): self
    {
        $headers = new self();
        $unfolded = preg_replace('/\r?\n[ \t]+/', ' ', $text);
        foreach (preg_split('/\r?\n/', $unfolded, -1, PREG_SPLIT_NO_EMPTY) as $line) {
            if (!preg_match('/^([!-9;-~]+):[ \t]*(.*)$/', $line, $match)) {
                throw new ParseError("not a header: $line");
            }
            $headers->values[strtolower($match[1])][] = rtrim($match[2]);
        }
        return $headers;
    }

    public function get(string $name): ?string
    {
        return $this->values[strtolower($name)][0] ?? null;
    }

    /** @return string[] */
    public function all(string $name): array
    {
        return $this->values[strtolower($name)] ?? [];
    }

    /** A value with its parameters: ['text/plain', ['charset' => 'utf-8']]. */
    public function structured(string $name, string $default): array
    {
        $parts = preg_split('/\s*;\s*/', $this->get($name) ?? $default);
        $parameters = [];
        foreach (array_slice($parts, 1) as $part) {
            if (preg_match('/^([^=\s]+)\s*=\s*(?:"([^"]*)"|(\S*))$/', $part, $match)) {
                $parameters[strtolower($match[1])] = ($match[3] ?? '') !== '' ? $match[3] : $match[2];
            }
        }
        return [strtolower($parts[0]), $parameters];
    }
}
