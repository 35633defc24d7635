#!/usr/bin/env php
<?php
// The structure of a PHP file, by PHP's own scanner and parser: the source is parsed, and never run.
//
// One document {"file_path", "content"} on standard input gives one object on standard output, and a document that cannot be
// read an exit code other than 0. With --lines every line of the input is a document with a number as its "id", and every
// line of the output its answer, or {"error": why}, with the same.

declare(strict_types=1);

const MAX_BYTES = 2 << 20;

// Tokens that older versions do not have are none.
foreach (['T_ENUM' => -1, 'T_READONLY' => -2] as $name => $value) {
    defined($name) || define($name, $value);
}

const BLANKS = [T_WHITESPACE => true, T_COMMENT => true, T_DOC_COMMENT => true];
const NAMES = [T_STRING => true, T_NAME_QUALIFIED => true, T_NAME_FULLY_QUALIFIED => true, T_NAME_RELATIVE => true];
// What opens a bracket in a text is a token of its own; one character is its own number.
const OPENING = [40 => true, 91 => true, 123 => true, T_CURLY_OPEN => true, T_DOLLAR_OPEN_CURLY_BRACES => true, T_ATTRIBUTE => true];
const CLOSING = [41 => true, 93 => true, 125 => true];
const PUNCTUATION = ['(' => 0, ')' => 0, '[' => 0, ']' => 0, '{' => 0, '}' => 0, ',' => 0, ';' => 0];
const MODIFIERS = [T_PUBLIC, T_PROTECTED, T_PRIVATE, T_STATIC, T_ABSTRACT, T_FINAL, T_VAR, T_READONLY];
const VISIBILITIES = [T_PUBLIC => 'public', T_PROTECTED => 'protected', T_PRIVATE => 'private'];
const TYPE_KINDS = [T_CLASS => 'class', T_INTERFACE => 'interface', T_TRAIT => 'trait', T_ENUM => 'enum'];

// A Refused is a document that has no structure, with the reason for the report.
final class Refused extends Exception
{
}

// A Reader finds the declarations of one file in its tokens. Blanks and comments are left out of them, and $match leads
// from each bracket that opens to the one that closes it.
final class Reader
{
    /** @var list<PhpToken> */
    private array $tokens = [];
    /** @var array<int, int> */
    private array $match = [];
    /** @var array<int, array{string, int|null}> what the brace at an index opens: its kind, and the type that it is of */
    private array $opens = [];
    private ?string $namespace = null;
    private string $current = '';
    /** @var array<string, string> names of classes that the file imports, in lower case */
    private array $aliases = [];
    private array $imports = [];
    private array $functions = [];
    private array $types = [];
    private array $properties = [];
    private array $calls = [];

    public function __construct(string $source)
    {
        foreach (PhpToken::tokenize($source, TOKEN_PARSE) as $t) {
            if (!isset(BLANKS[$t->id])) {
                $this->tokens[] = $t;
            }
        }
        $open = [];
        foreach ($this->tokens as $i => $t) {
            if (isset(OPENING[$t->id])) {
                $open[] = $i;
            } elseif (isset(CLOSING[$t->id])) {
                $this->match[array_pop($open)] = $i;
            }
        }
    }

    public function read(): array
    {
        $scopes = [];
        $ends = []; // the index of the brace that ends each scope
        $inside = 0; // how many of the scopes are bodies of functions
        for ($i = 0, $n = count($this->tokens); $i < $n; $i++) {
            if ($ends && end($ends) === $i) {
                array_pop($ends);
                $inside -= array_pop($scopes)[0] === 'function' ? 1 : 0;
                continue;
            }
            $t = $this->tokens[$i];
            $scope = $scopes ? $scopes[count($scopes) - 1] : ['block', null];
            if (isset($this->match[$i]) && ($t->text === '{' || $t->id === T_CURLY_OPEN || $t->id === T_DOLLAR_OPEN_CURLY_BRACES)) {
                $scopes[] = $this->opens[$i] ?? ['block', null];
                $ends[] = $this->match[$i];
                $inside += end($scopes)[0] === 'function' ? 1 : 0;
            } elseif ($t->id === T_ATTRIBUTE) {
                $i = $this->match[$i];
            } elseif ($t->id === T_NAMESPACE) {
                $i = $this->namespaceAt($i);
            } elseif ($t->id === T_USE && $scope[0] === 'type') {
                $i = $this->traitsAt($i, $scope[1]);
            } elseif ($t->id === T_USE && $this->text($i - 1) !== ')') {
                $i = $this->importAt($i);
            } elseif (isset(TYPE_KINDS[$t->id]) && $this->id($i - 1) !== T_DOUBLE_COLON) {
                $this->typeAt($i, $inside > 0);
            } elseif ($t->id === T_FUNCTION) {
                $i = $this->functionAt($i, $inside > 0, $scope);
            } elseif ($t->id === T_VARIABLE && $scope[0] === 'type' && $inside === 0) {
                $this->properties[] = substr($t->text, 1);
            } elseif (isset(NAMES[$t->id]) && $this->text($i + 1) === '(' && $this->id($i - 1) !== T_NEW) {
                $this->calls[$this->last($t->text)] = true;
            }
        }
        return $this->answer();
    }

    private function id(int $i): int
    {
        return $this->tokens[$i]->id ?? 0;
    }

    private function text(int $i): string
    {
        return $this->tokens[$i]->text ?? '';
    }

    private function last(string $name): string
    {
        return substr('\\' . $name, strrpos('\\' . $name, '\\') + 1);
    }

    private function namespaceAt(int $i): int
    {
        $this->current = '';
        $this->aliases = [];
        if (isset(NAMES[$this->id($i + 1)])) {
            $this->current = $this->text(++$i);
        }
        $this->namespace ??= $this->current;
        return $i;
    }

    // importAt reads a statement such as use A\B, C as D; or use function A\{b, c as d};
    private function importAt(int $i): int
    {
        $line = $this->tokens[$i]->line;
        $prefix = '';
        $class = true; // of the statement, then of the name
        for ($i++, $ofClass = true; !in_array($this->text($i), [';', ''], true) && $this->id($i) !== T_CLOSE_TAG; $i++) {
            $t = $this->tokens[$i];
            if ($t->id === T_FUNCTION || $t->id === T_CONST) {
                $ofClass = false;
                $class = $class && $prefix !== '';
            } elseif ($this->id($i + 1) === T_NS_SEPARATOR) {
                $prefix = ltrim($t->text, '\\') . '\\';
            } elseif ($t->text === ',') {
                $ofClass = $class;
            } elseif (isset(NAMES[$t->id]) && $this->id($i - 1) !== T_AS) {
                $name = $prefix . ltrim($t->text, '\\');
                $this->imports[] = [$name, $line];
                $alias = $this->id($i + 1) === T_AS ? $this->text($i + 2) : $this->last($name);
                if ($ofClass) {
                    $this->aliases[strtolower($alias)] = $name;
                }
            }
        }
        return $i;
    }

    private function traitsAt(int $i, ?int $type): int
    {
        for ($i++; !in_array($this->text($i), [';', '{', ''], true); $i++) {
            if ($type !== null && isset(NAMES[$this->id($i)])) {
                $this->types[$type]['implements'][] = $this->resolve($this->tokens[$i]);
            }
        }
        return $this->match[$i] ?? $i; // what is between braces renames methods
    }

    // typeAt reads the head of a type. What is declared within a function belongs to its body, and is not told.
    private function typeAt(int $i, bool $inside): void
    {
        $kind = TYPE_KINDS[$this->id($i)];
        $type = ['name' => '', 'kind' => $kind, 'line' => $this->tokens[$i]->line, 'extends' => [], 'implements' => []];
        $at = $i + 1;
        if ($this->id($at) === T_STRING) {
            $type['name'] = $this->text($at++);
        }
        if ($this->text($at) === '(') {
            $at = $this->match[$at] + 1; // arguments of a class without a name
        }
        for ($list = null; $this->text($at) !== '{'; $at++) {
            if ($this->id($at) === T_EXTENDS || $this->id($at) === T_IMPLEMENTS) {
                $list = $this->id($at) === T_EXTENDS ? 'extends' : 'implements';
            } elseif ($list !== null && isset(NAMES[$this->id($at)])) {
                $type[$list][] = $this->resolve($this->tokens[$at]);
            }
        }
        if ($inside) {
            $this->opens[$at] = ['type', null];
            return;
        }
        $this->opens[$at] = ['type', count($this->types)];
        $this->types[] = $type;
    }

    private function functionAt(int $i, bool $inside, array $scope): int
    {
        $at = $i + 1;
        if ($this->text($at) === '&') {
            $at++;
        }
        $name = $this->text($at) === '(' ? '' : $this->text($at++);
        $end = $this->match[$at];
        $body = $end + 1;
        if ($this->id($body) === T_USE) {
            $body = $this->match[$body + 1] + 1;
        }
        while (!in_array($this->text($body), ['{', ';'], true)) {
            $body++;
        }
        if ($this->text($body) === '{') {
            $this->opens[$body] = ['function', null];
        }
        if ($inside || $name === '') {
            return $at - 1;
        }
        $method = $scope[0] === 'type';
        [$first, $visibility] = $this->modifiers($i);
        $f = [
            'name' => $name, 'type' => $method ? $this->types[$scope[1]]['name'] : '', 'line' => $this->tokens[$first]->line, 'end' => $this->tokens[$this->match[$body] ?? $body]->line,
            'visibility' => $visibility, 'parameters' => $this->parameters($at, $end, $method),
        ];
        if ($this->text($body) === '{') {
            $f += $this->hashes($body + 1, $this->match[$body]);
        }
        $this->functions[] = $f;
        return $body - 1;
    }

    // modifiers finds where a declaration begins, and who can see it.
    private function modifiers(int $i): array
    {
        $visibility = 'public';
        while (in_array($this->id($i - 1), MODIFIERS, true)) {
            $visibility = VISIBILITIES[$this->id(--$i)] ?? $visibility;
        }
        return [$i, $visibility];
    }

    // parameters counts them; those of a constructor that are promoted are properties.
    private function parameters(int $open, int $close, bool $method): int
    {
        $count = 0;
        $promoted = false;
        for ($i = $open + 1; $i < $close; $i++) {
            if (isset($this->match[$i])) {
                $i = $this->match[$i]; // a default, or an attribute
                continue;
            }
            if ($this->text($i) === ',') {
                $promoted = false;
            } elseif ($method && in_array($this->id($i), MODIFIERS, true)) {
                $promoted = true;
            } elseif ($this->id($i) === T_VARIABLE) {
                $count++;
                if ($promoted) {
                    $this->properties[] = substr($this->text($i), 1);
                }
            }
        }
        return $count;
    }

    // hashes names a body, as it stands and without names and literals.
    private function hashes(int $from, int $to): array
    {
        $exact = $shape = '';
        $size = 0;
        for ($i = $from; $i < $to; $i++) {
            [$text, $sort] = $this->normal($this->tokens[$i]);
            $exact .= strlen($text) . ':' . $text;
            $shape .= $sort . "\n";
            $size += isset(PUNCTUATION[$text]) ? 0 : 1;
        }
        return ['hash' => hash('sha256', $exact), 'shape' => hash('sha256', $shape), 'size' => $size];
    }

    // normal gives a token's text without layout, and what is left of it without names and literals.
    private function normal(PhpToken $t): array
    {
        switch ($t->id) {
            case T_STRING:
            case T_NAME_QUALIFIED:
            case T_NAME_FULLY_QUALIFIED:
            case T_NAME_RELATIVE:
            case T_STRING_VARNAME:
                return [$t->text, 'name'];
            case T_VARIABLE:
                return [$t->text, '$name'];
            case T_LNUMBER:
            case T_NUM_STRING:
                return [$t->text, 'integer'];
            case T_DNUMBER:
                return [$t->text, 'float'];
            case T_CONSTANT_ENCAPSED_STRING:
            case T_ENCAPSED_AND_WHITESPACE:
                return [$t->text, 'string'];
            case T_INLINE_HTML:
                return [$t->text, 'html'];
            case T_START_HEREDOC:
                $start = str_contains($t->text, "'") ? "<<<'" : '<<<';
                return [$start, $start];
            case T_END_HEREDOC:
                return ['>>>', '>>>'];
        }
        $text = $t->id < 256 ? $t->text : strtolower(preg_replace('/\s+/', '', $t->text)); // a cast, or a keyword of two words
        return [$text, $text];
    }

    // resolve makes the full name of a class.
    private function resolve(PhpToken $t): string
    {
        if ($t->id === T_NAME_FULLY_QUALIFIED) {
            return substr($t->text, 1);
        }
        $prefix = $this->current === '' ? '' : $this->current . '\\';
        if ($t->id === T_NAME_RELATIVE) {
            return $prefix . substr($t->text, strlen('namespace\\'));
        }
        $parts = explode('\\', $t->text, 2);
        $alias = $this->aliases[strtolower($parts[0])] ?? null;
        return $alias === null ? $prefix . $t->text : implode('\\', [$alias] + $parts);
    }

    private function answer(): array
    {
        $named = array_values(array_filter($this->types, fn (array $t): bool => $t['name'] !== ''));
        $first = $named[0] ?? $this->types[0] ?? null;
        $out = [
            'methods' => array_values(array_unique(array_column($this->functions, 'name'))),
            'type_name' => $first['name'] ?? '',
            'type_names' => array_column($named, 'name'),
            'extends' => $first['extends'][0] ?? '',
            'implements' => $first === null ? [] : array_merge(array_slice($first['extends'], 1), $first['implements']),
            'namespace' => $this->namespace ?? '',
            'imports' => array_column($this->imports, 0),
            'import_lines' => array_column($this->imports, 1),
            'properties' => array_values(array_unique($this->properties)),
            'functions' => $this->functions,
            'types' => array_map(fn (array $t): array => [
                'name' => $t['name'], 'kind' => $t['kind'], 'line' => $t['line'], 'implements' => array_merge($t['extends'], $t['implements']),
            ], $this->types),
        ];
        $hashes = $shapes = $visibility = $public = [];
        foreach ($this->functions as $f) {
            $visibility[$f['name']] ??= $f['visibility'];
            if (($f['size'] ?? 0) > 0) { // all that do nothing are alike
                $hashes[$f['name']] ??= $f['hash'];
                $shapes[$f['name']] ??= $f['shape'];
            }
            if ($f['visibility'] === 'public') {
                $public[$f['name']] = true;
            }
        }
        ksort($this->calls, SORT_STRING);
        return $out + [
            'method_hashes' => (object) $hashes, 'structural_hashes' => (object) $shapes, 'visibility' => (object) $visibility,
            'internal_calls' => array_map('strval', array_keys($this->calls)), 'public_api' => array_map('strval', array_keys($public)),
        ];
    }
}

function fingerprint(mixed $in): array
{
    if (!is_array($in) || !is_string($in['content'] ?? null)) {
        throw new Refused('not a document with file_path and content');
    }
    if (strlen($in['content']) > MAX_BYTES) {
        throw new Refused('too large to parse');
    }
    try {
        return (new Reader($in['content']))->read();
    } catch (CompileError $e) {
        throw new Refused('not valid PHP');
    }
}

function text(array $found): string
{
    return json_encode($found, JSON_THROW_ON_ERROR | JSON_INVALID_UTF8_SUBSTITUTE | JSON_UNESCAPED_SLASHES) . "\n";
}

if (!class_exists('PhpToken')) {
    fwrite(STDERR, "PHP 8 with its tokenizer is needed\n");
    exit(3);
}
ini_set('memory_limit', '1G');
error_reporting(0); // what PHP thinks of the code is for its linter
if (($argv[1] ?? '') !== '--lines') {
    try {
        fwrite(STDOUT, text(fingerprint(json_decode(stream_get_contents(STDIN), true))));
    } catch (Refused $e) {
        fwrite(STDERR, $e->getMessage() . "\n");
        exit(1);
    }
    exit(0);
}
while (($line = fgets(STDIN)) !== false) {
    $in = json_decode($line, true);
    try {
        $out = fingerprint($in);
    } catch (Refused $e) {
        $out = ['error' => $e->getMessage()];
    }
    fwrite(STDOUT, text(['id' => is_array($in) ? $in['id'] ?? null : null] + $out));
}
