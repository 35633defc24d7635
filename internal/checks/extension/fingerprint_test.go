package extension

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// A print is what a fingerprint script says of a file.
type print struct {
	Error      string            `json:"error,omitempty"`
	Methods    []string          `json:"methods,omitempty"`
	TypeName   string            `json:"type_name,omitempty"`
	TypeNames  []string          `json:"type_names,omitempty"`
	Extends    string            `json:"extends,omitempty"`
	Implements []string          `json:"implements,omitempty"`
	Namespace  string            `json:"namespace,omitempty"`
	Imports    []string          `json:"imports,omitempty"`
	Visibility map[string]string `json:"visibility,omitempty"`
	Properties []string          `json:"properties,omitempty"`
	Calls      []string          `json:"internal_calls,omitempty"`
	API        []string          `json:"public_api,omitempty"`
	Hashes     map[string]string `json:"method_hashes,omitempty"`
	Shapes     map[string]string `json:"structural_hashes,omitempty"`
	Functions  []struct {
		Name, Type, Hash, Shape     string
		Line, End, Parameters, Size int
	} `json:"functions,omitempty"`
	Types []struct {
		Name, Kind string
		Line       int
		Implements []string
	} `json:"types,omitempty"`
}

// script is the command line of a built-in fingerprint script, with its interpreter or by its first line.
func script(t *testing.T, id string, direct bool) []string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("builtin", id))
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(path, id+".json"))
	if err != nil {
		t.Fatal(err)
	}
	m, err := decodeManifest(id, data)
	if err != nil {
		t.Fatal(err)
	}
	if m.Fingerprint == nil || !m.Fingerprint.Lines || len(m.Fingerprint.Interpreter) == 0 || len(m.Provides.FileExtensions) == 0 {
		t.Fatalf("the manifest of %s declares no fingerprint script with lines", id)
	}
	tool := m.Fingerprint.Interpreter[0]
	if testing.Short() {
		t.Skip("short: needs an interpreter")
	}
	if _, err := exec.LookPath(tool); err != nil {
		t.Skipf("missing tool: %s: apt-get install %s", tool, map[string]string{"php": "php-cli", "python3": "python3"}[tool])
	}
	file := filepath.Join(path, m.Scripts["fingerprint"])
	if direct {
		return []string{file}
	}
	return append(append([]string{}, m.Fingerprint.Interpreter...), file)
}

func document(t *testing.T, source string) []byte {
	t.Helper()
	b, err := json.Marshal(map[string]string{"file_path": "dir/file", "content": source})
	if err != nil {
		t.Fatal(err)
	}
	return append(b, '\n')
}

// start runs a script to its end in an empty directory.
func start(t *testing.T, argv []string, in []byte) (stdout, stderr string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, argv[0], argv[1:]...)
	var out, errs bytes.Buffer
	c.Dir, c.Stdin, c.Stdout, c.Stderr = t.TempDir(), bytes.NewReader(in), &out, &errs
	var exit *exec.ExitError
	if err := c.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), errs.String(), c.ProcessState.ExitCode()
}

// prints has one process read all sources.
func prints(t *testing.T, id string, sources ...string) []print {
	t.Helper()
	var in []byte
	for _, s := range sources {
		in = append(in, document(t, s)...)
	}
	out, errs, code := start(t, append(script(t, id, false), "--lines"), in)
	if code != 0 || errs != "" {
		t.Fatalf("exit %d: %s", code, errs)
	}
	answers := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if len(answers) != len(sources) {
		t.Fatalf("%d answers to %d documents", len(answers), len(sources))
	}
	list := make([]print, len(sources))
	for i, a := range answers {
		if err := json.Unmarshal([]byte(a), &list[i]); err != nil {
			t.Fatalf("%v: %s", err, a)
		}
	}
	return list
}

// outline is the structure of a print, without numbers and hashes.
func outline(p print) print {
	p.Functions, p.Types, p.Hashes, p.Shapes = nil, nil, nil, nil
	return p
}

var structures = []struct {
	name, id, source string
	want             print
}{
	{
		"a class of a namespace", "php",
		"<?php\ndeclare(strict_types=1);\nnamespace App\\Http;\nuse Foo\\Base, Baz\\Qux as Q;\nuse function My\\helper;\nfinal class Page extends Base implements Q, \\Countable, namespace\\Local, Q\\Sub {\n  public ?int $size = 1;\n  public function show(int $a) { return helper($a); }\n  protected static function &list(array ...$more): ?array {}\n  private function hide() {}\n}\n",
		print{
			Methods: []string{"show", "list", "hide"}, TypeName: "Page", TypeNames: []string{"Page"}, Extends: `Foo\Base`,
			Implements: []string{`Baz\Qux`, "Countable", `App\Http\Local`, `Baz\Qux\Sub`}, Namespace: `App\Http`, Imports: []string{`Foo\Base`, `Baz\Qux`, `My\helper`},
			Visibility: map[string]string{"show": "public", "list": "protected", "hide": "private"}, Properties: []string{"size"}, Calls: []string{"helper"}, API: []string{"show"},
		},
	},
	{
		"imports in groups", "php",
		"<?php use Grp\\{A, B as C, Deep\\D, function f, const K}; use function Lib\\{g as h}; use const Lib\\V; class X extends C implements A, D, f {}",
		print{
			TypeName: "X", TypeNames: []string{"X"}, Extends: `Grp\B`, Implements: []string{`Grp\A`, `Grp\Deep\D`, "f"},
			Imports: []string{`Grp\A`, `Grp\B`, `Grp\Deep\D`, `Grp\f`, `Grp\K`, `Lib\g`, `Lib\V`},
		},
	},
	{
		"several namespaces with braces", "php",
		"<?php namespace A { use X\\Y; class One extends Y {} } namespace { class Two extends Y { function two() {} } }",
		print{
			Methods: []string{"two"}, TypeName: "One", TypeNames: []string{"One", "Two"}, Extends: `X\Y`, Namespace: "A", Imports: []string{`X\Y`},
			Visibility: map[string]string{"two": "public"}, API: []string{"two"},
		},
	},
	{
		"traits, interfaces and enums", "php",
		"<?php trait Walks { abstract function walk(); } interface Moves extends A, B { const X = self::class; function move(); } enum Suit: string implements Moves { use Walks { walk as protected run; } case Hearts = 'h'; public static function one(): self { return self::Hearts; } }",
		print{
			Methods: []string{"walk", "move", "one"}, TypeName: "Walks", TypeNames: []string{"Walks", "Moves", "Suit"},
			Visibility: map[string]string{"walk": "public", "move": "public", "one": "public"}, API: []string{"walk", "move", "one"},
		},
	},
	{
		"names that are keywords", "php",
		"<?php class C { const class_ = 1; function class() { return C::class . $this->function->new(); } function enum() {} static function function() {} } $enum = 1;",
		print{
			Methods: []string{"class", "enum", "function"}, TypeName: "C", TypeNames: []string{"C"}, Calls: []string{"new"},
			Visibility: map[string]string{"class": "public", "enum": "public", "function": "public"}, API: []string{"class", "enum", "function"},
		},
	},
	{
		"promoted parameters and attributes", "php",
		"<?php #[Entity(table: 'x', cb: [A::class])] class P { public function __construct(private readonly int $id = 1, #[Deny('}')] protected array $tags = [1, ['a' => 2]], ?callable $plain = null,) {} #[Pure] #[Two] private function q() {} }",
		print{
			Methods: []string{"__construct", "q"}, TypeName: "P", TypeNames: []string{"P"}, Properties: []string{"id", "tags"},
			Visibility: map[string]string{"__construct": "public", "q": "private"}, API: []string{"__construct"},
		},
	},
	{
		"what is inside of functions", "php",
		"<?php function outer() { $f = function () use (&$x) { return 1; }; $g = static fn ($y) => $y; function nested() {} return new class(fn () => 2) extends Gone { use T; public $z; function inner() {} }; }\nif (!function_exists('maybe')) { function maybe() {} }",
		print{
			Methods: []string{"outer", "maybe"}, Calls: []string{"function_exists"},
			Visibility: map[string]string{"outer": "public", "maybe": "public"}, API: []string{"outer", "maybe"},
		},
	},
	{
		"a class without a name at the top", "php",
		"<?php return new #[A] class(1, ['{']) extends Migration implements Runs { public $table; public function up() {} };",
		print{
			Methods: []string{"up"}, Extends: "Migration", Implements: []string{"Runs"}, Properties: []string{"table"},
			Visibility: map[string]string{"up": "public"}, API: []string{"up"},
		},
	},
	{
		"heredocs, strings and what only looks like code", "php",
		"<?php\nfunction a() { $s = <<<EOT\n  function no() { {$x->go()} ${y} } class No {\n  EOT; return \"class N { {$s['k']}\" . <<<'RAW'\nfunction neither() {\nRAW; }\n// class Comment {}\n/* function f() {} */ function b() { ?> <p>function html() {</p> <?php }\n__halt_compiler(); function data() {",
		print{
			Methods: []string{"a", "b"}, Calls: []string{"go"}, Visibility: map[string]string{"a": "public", "b": "public"}, API: []string{"a", "b"},
		},
	},
	{"no code at all", "php", "<p>class X {}</p>\n<?xml version=\"1.0\"?>", print{}},
	{"not PHP", "php", "<?php class {", print{Error: "not valid PHP"}},
	{"a statement too few", "php", "<?php function f() { return 1 }", print{Error: "not valid PHP"}},

	{
		"a class with bases", "python",
		"\"\"\"doc\"\"\"\nimport os, a.b as c\nfrom . import sib\nfrom ..pkg.mod import x\nclass A(base.B[T], Mixin, object, metaclass=Meta):\n    def show(self): return os.path.join(x)\n    def _part(self): pass\n    def __hidden(self): ...\n    def __len__(self): return 1\n",
		print{
			Methods: []string{"show", "_part", "__hidden", "__len__"}, TypeName: "A", TypeNames: []string{"A"}, Extends: "base.B", Implements: []string{"Mixin"},
			Imports: []string{"os", "a.b", ".sib", "..pkg.mod"}, Calls: []string{"join"}, API: []string{"A"},
			Visibility: map[string]string{"show": "public", "_part": "protected", "__hidden": "private", "__len__": "public"},
		},
	},
	{
		"decorators, async and nested functions", "python",
		"import functools\n@functools.cache\ndef plain(a):\n    def nested(): return 1\n    class Local:\n        def inner(self): pass\n    import lazy\n    return lambda: nested()\nasync def wait():\n    async with x as y:\n        await y.go()\nclass P:\n    @property\n    def v(self): return 1\n    @v.setter\n    def v(self, n): self.n = n\n    @staticmethod\n    async def s(a): yield a\n",
		print{
			Methods: []string{"plain", "wait", "v", "s"}, TypeName: "P", TypeNames: []string{"P"}, Imports: []string{"functools", "lazy"},
			Calls: []string{"go", "nested"}, API: []string{"plain", "wait", "P"},
			Visibility: map[string]string{"plain": "public", "wait": "public", "v": "public", "s": "public"},
		},
	},
	{
		"a dataclass and a class in a class", "python",
		"from dataclasses import dataclass, field\n__all__ = ['Point']\n@dataclass(frozen=True)\nclass Point:\n    x: int\n    y: int = 0\n    tags: list = field(default_factory=list)\n    unit = 'm'\n    class Meta(Point):\n        z = 1\n        def deep(self): pass\n",
		print{
			Methods: []string{"deep"}, TypeName: "Point", TypeNames: []string{"Point", "Point.Meta"}, Imports: []string{"dataclasses"}, Calls: []string{"dataclass", "field"},
			Properties: []string{"x", "y", "tags", "unit", "z"}, Visibility: map[string]string{"deep": "public"}, API: []string{"Point"},
		},
	},
	{
		"declarations under a condition", "python",
		"if a:\n    def one(): pass\nelif b:\n    def two(): pass\nelse:\n    class Three: pass\ntry:\n    import fast\nexcept ImportError:\n    def four(): pass\nfinally:\n    def five(): pass\nwith a:\n    for _ in b:\n        while c:\n            def six(): pass\n",
		print{
			Methods: []string{"one", "two", "four", "five", "six"}, TypeName: "Three", TypeNames: []string{"Three"}, Imports: []string{"fast"},
			Visibility: map[string]string{"one": "public", "two": "public", "four": "public", "five": "public", "six": "public"},
			API:        []string{"one", "two", "four", "five", "six", "Three"},
		},
	},
	{"a mark at the beginning, and odd text", "python", "\ufeffdef f(): return '\\ud800' + '\\d'\n# def g(): pass\ns = '''\ndef h(): pass\n'''\n", print{Methods: []string{"f"}, Visibility: map[string]string{"f": "public"}, API: []string{"f"}}},
	{"no code at all", "python", "", print{}},
	{"not Python", "python", "def f(:\n", print{Error: "not valid Python"}},
	{"Python 2", "python", "print 'x'\n", print{Error: "not valid Python"}},
	{"a wrong indentation", "python", "def f():\nreturn 1\n", print{Error: "not valid Python"}},
}

func TestFingerprintStructures(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"php", "python"} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			var sources []string
			for _, s := range structures {
				if s.id == id {
					sources = append(sources, s.source)
				}
			}
			got := prints(t, id, sources...)
			for _, s := range structures {
				if s.id != id {
					continue
				}
				if diff := cmp.Diff(s.want, outline(got[0]), cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("%s:\n%s", s.name, diff)
				}
				got = got[1:]
			}
		})
	}
}

// The contract: one document, one process by the first line of the script, one object; and a fault is an exit code.
func TestFingerprintContract(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ id, good, bad string }{
		{"php", "<?php function f() { return 1; }", "<?php function f( {"},
		{"python", "def f(): return 1\n", "def f(:\n"},
	} {
		argv := script(t, tc.id, true)
		out, errs, code := start(t, argv, bytes.TrimSpace(document(t, tc.good)))
		var p print
		if err := json.Unmarshal([]byte(out), &p); err != nil || code != 0 || errs != "" || !cmp.Equal(p.Methods, []string{"f"}) || p.Hashes["f"] == "" || p.Shapes["f"] == "" {
			t.Errorf("%s: exit %d, %v, %s%s", tc.id, code, err, out, errs)
		}
		for _, in := range []string{string(document(t, tc.bad)), "", "[1]", `{"content": 1}`, "not JSON", "{\"content\": \"\xff\"}", strings.Repeat("[", 100_000)} {
			if out, errs, code := start(t, argv, []byte(in)); code == 0 || out != "" || !strings.Contains(errs, "not ") || strings.Contains(errs, "Traceback") {
				t.Errorf("%s: %.40q: exit %d, %q, %q", tc.id, in, code, out, errs)
			}
		}
	}
}

// Bodies are equal whatever their layout and comments, and alike whatever their names and literals.
func TestFingerprintHashes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, id, a, b string
		exact, shape   bool
	}{
		{"layout", "php", "<?php function f() { /* a */ return (int) $a + foo( 'x' ); }", "<?php\nfunction f()\n{\n  # b\n  return ( INT )$a\n    +foo('x');\n}", true, true},
		{"a name", "php", "<?php function f() { return $a->go(1); }", "<?php function f() { return $b->stay(2); }", false, true},
		{"an operator", "php", "<?php function f() { return $a + 1; }", "<?php function f() { return $a - 1; }", false, false},
		{"the sort of a literal", "php", "<?php function f() { return 1; }", "<?php function f() { return '1'; }", false, false},
		{"the label of a heredoc", "php", "<?php function f() { return <<<A\nx\nA; }", "<?php function f() { return <<<B\nx\nB; }", true, true},
		{"texts that run together", "php", "<?php function f() { return ['ab', 'c']; }", "<?php function f() { return ['a', 'bc']; }", false, true},
		{"layout", "python", "def f(a):\n    'doc'\n    # one\n    return foo(a,\n        'x')\n", "def f(a):\n\treturn foo (a , \"x\") # two\n", true, true},
		{"a name", "python", "def f(): return a.go(1)\n", "def f(): return b.stay(2)\n", false, true},
		{"an operator", "python", "def f(): return a + 1\n", "def f(): return a - 1\n", false, false},
		{"the sort of a literal", "python", "def f(): return 1\n", "def f(): return '1'\n", false, false},
		{"a huge number", "python", "def f(): return 0x" + strings.Repeat("f", 9000) + "\n", "def f(): return 0x" + strings.Repeat("f", 9001) + "\n", false, true},
		{"what belongs together", "python", "def f():\n    if a:\n        b()\n    c()\n", "def f():\n    if a:\n        b()\n        c()\n", false, false},
		{"await", "python", "async def f(): return await x\n", "async def f(): return x\n", false, false},
	} {
		t.Run(tc.id+" "+tc.name, func(t *testing.T) {
			t.Parallel()
			got := prints(t, tc.id, tc.a, tc.b)
			a, b := got[0], got[1]
			if (a.Hashes["f"] == b.Hashes["f"]) != tc.exact || (a.Shapes["f"] == b.Shapes["f"]) != tc.shape || a.Hashes["f"] == "" || a.Shapes["f"] == "" {
				t.Errorf("%v %v\n%v %v", a.Hashes, b.Hashes, a.Shapes, b.Shapes)
			}
		})
	}
}

func TestFingerprintPlaces(t *testing.T) {
	t.Parallel()
	php := prints(t, "php", "<?php\n\n#[A]\nabstract class A {\n  /** doc */\n  #[B]\n  public\n  static function f($a, $b = [1, 2]) {\n    return 1;\n  }\n  abstract function g();\n}\nclass B { function f() { return 2; } function none() {} }\n")[0]
	python := prints(t, "python", "\nclass A:\n    @staticmethod\n    def f(a, /, b, *c, d=1, **e):\n        return (1,\n          2)\n    def g(self, a): pass\nclass B:\n    def f(self): return 2\n")[0]
	type place struct {
		Name             string
		Line, End, Takes int
		Hashed           bool
	}
	for _, tc := range []struct {
		got  print
		want []place
	}{
		{php, []place{{"A.f", 7, 10, 2, true}, {"A.g", 11, 11, 0, false}, {"B.f", 13, 13, 0, true}, {"B.none", 13, 13, 0, true}}},
		{python, []place{{"A.f", 4, 6, 5, true}, {"A.g", 7, 7, 1, false}, {"B.f", 9, 9, 0, true}}},
	} {
		var got []place
		for _, f := range tc.got.Functions {
			got = append(got, place{f.Type + "." + f.Name, f.Line, f.End, f.Parameters, f.Hash != ""})
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Error(diff)
		}
		if tc.got.Functions[0].Hash == tc.got.Functions[2].Hash {
			t.Error("two methods of one name are one")
		}
		if _, ok := tc.got.Hashes["none"]; ok {
			t.Error("a body without anything is named for comparison")
		}
	}
}

// Whatever stands in a file, the next one is read.
func TestFingerprintHostile(t *testing.T) {
	t.Parallel()
	deep := func(open, mid, end string, n int) string {
		return strings.Repeat(open, n) + mid + strings.Repeat(end, n)
	}
	for _, tc := range []struct {
		id, good string
		bad      map[string]string // and what is said of it; "": it may have structure
	}{
		{"php", "<?php function f() {}", map[string]string{
			"<?php " + deep("(", "1", ")", 100_000) + ";":                   "not valid PHP",
			"<?php " + deep("{", "", "}", 100_000):                          "not valid PHP",
			"<?php " + deep("function(){", "", "}", 20_000) + ";":           "not valid PHP",
			"<?php " + strings.Repeat("1+", 200_000) + "1;":                 "",
			"<?php $x" + strings.Repeat("->a", 200_000) + ";":               "",
			"<?php " + deep("new class{function f(){", "", "}}", 500) + ";": "",
			"<?php '" + strings.Repeat("a", 10<<20) + "';":                  "too large to parse",
			"<?php function f\xff() { return '\xfe'; }":                     "",
			"<?php \x00":                    "not valid PHP",
			"<?php function f() { return 1": "not valid PHP",
			"<?php exit(3); echo file_put_contents('ran', 'x'); throw new E(1);": "",
		}},
		{"python", "def f(): pass\n", map[string]string{
			deep("(", "1", ")", 100_000) + "\n":             "not valid Python",
			strings.Repeat("-", 200_000) + "1\n":            "nested too deep to parse",
			strings.Repeat("1+", 200_000) + "1\n":           "nested too deep to parse",
			"x" + strings.Repeat(".a", 200_000) + "\n":      "nested too deep to parse",
			"x = '" + strings.Repeat("a", 10<<20) + "'\n":   "too large to parse",
			strings.Repeat("9", 10_000) + "\n":              "",
			"def f(): return '\xff'\n":                      "",
			"x = 1\x00\n":                                   "not valid Python",
			"import sys\nsys.exit(3)\nopen('ran', 'w')\n":   "",
			"from __future__ import braces\n":               "",
			deep("if 1:\n ", "", "", 1) + "x\n\ty\n":        "not valid Python",
			strings.Repeat("@d\n", 20_000) + "class A: 1\n": "",
		}},
	} {
		t.Run(tc.id, func(t *testing.T) {
			t.Parallel()
			var sources, want []string
			for source, why := range tc.bad {
				sources, want = append(sources, source, tc.good), append(want, why, "")
			}
			for i, p := range prints(t, tc.id, sources...) {
				if i%2 == 1 && !cmp.Equal(p.Methods, []string{"f"}) || want[i] != "" && p.Error != want[i] {
					t.Errorf("%.60q: %+v, want %q", sources[i], p, want[i])
				}
			}
		})
	}
}
