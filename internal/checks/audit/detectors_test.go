package audit

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const body = `{
	total := 0
	for i, v := range values {
		if v > limit {
			total += v * i
			continue
		}
		total -= v + i
	}
	return total
}
`

const goTree = `
-- go.mod --
module example.com/m

go 1.26
-- internal/a/a.go --
package alpha

import "fmt"

// Used is used by package b under the name that the package clause gives.
func Used() {}

// Dotted is used through a dot import.
func Dotted() {}

// Dead is used by nobody.
func Dead() { fmt.Println() }

// ForTests is used by a test alone.
func ForTests() {}

// Own is used in its package.
type Own struct{}

// Call is asked for by an interface, Idle by nobody, String by the standard library.
func (Own) Call()          {}
func (Own) Idle()          {}
func (Own) String() string { return "" }

var _ = Own{}

// Linked is named by a directive.
func Linked() {}

//go:linkname other example.com/m/internal/a.Linked

// Symbol is in the list of known symbols.
func Symbol() {}
-- internal/a/a_test.go --
package alpha

import "testing"

func TestIt(t *testing.T) { ForTests() }

func TestNothing(t *testing.T) {
	t.Parallel()
	t.Log("here")
}

func ExampleUsed() {}

func ExampleOwn_Idle() {}

func ExampleGone_second() {}
-- b/b.go --
package b

import (
	"example.com/m/internal/a"
	. "example.com/m/internal/dot"
)

type caller interface{ Call() }

func F() { alpha.Used(); Point() }

func Public() {}
-- internal/dot/dot.go --
package dot

func Point() {}
-- cmd/x/main.go --
package main

func Exported() {}

func main() {}
`

// Names of packages come from their clauses. What is never referenced is distinguished from what only tests reference.
func TestGoReferences(t *testing.T) {
	t.Parallel()
	r := run(t, Config{Root: plant(t, goTree), Component: raw(`{"known_symbols": ["Symbol"]}`)})
	want := []string{
		"cmd/x/main.go:3 unreferenced_export warning graph Exported",
		"internal/a/a.go:9 unreferenced_export warning graph Dotted",
		"internal/a/a.go:12 unreferenced_export warning graph Dead",
		"internal/a/a.go:15 test_only_export info graph ForTests",
		"internal/a/a.go:22 unreferenced_export info heuristic Idle",
	}
	if diff := cmp.Diff(want, of(lines(r), kindUnreferencedExport, kindTestOnlyExport)); diff != "" {
		t.Error(diff)
	}
	want = []string{
		"internal/a/a_test.go:7 vacuous_test warning structural TestNothing",
		"internal/a/a_test.go:16 orphaned_test warning graph ExampleGone_second",
	}
	if diff := cmp.Diff(want, of(lines(r), kindVacuousTest, kindOrphanedTest)); diff != "" {
		t.Error(diff)
	}
}

func TestDetectors(t *testing.T) {
	t.Parallel()
	class := func(name, more string) string {
		return "export class " + name + " extends Base {\n  execute(input) { return input }\n  register() {}\n" + more + "}\n"
	}
	for _, tt := range []struct {
		name, tree, audit, rules, version string
		want                              []string
	}{
		{
			name: "classes of a directory",
			tree: "-- steps/a.js --\n" + class("AStep", "") + "-- steps/b.js --\n" + class("BStep", "  validate() {}\n") + "-- steps/c.js --\n" + class("CStep", "") +
				"-- steps/d.js --\nimport x from './a.js'\n\nexport class DOther {\n  execute(one, two) {}\n}\n-- steps/index.js --\nexport * from './a.js'\n",
			want: []string{
				"steps/d.js:3 missing_interface warning heuristic Base",
				"steps/d.js:3 missing_method warning heuristic register",
				"steps/d.js:3 naming_mismatch info heuristic DOther",
				"steps/d.js:3 signature_mismatch info heuristic execute",
			},
		},
		{
			name: "edge case 44: a fragmented group is no convention",
			tree: "-- s/a.js --\nexport class A { x() {} y() {} z() {} }\n-- s/b.js --\nexport class B { x() {} y() {} }\n-- s/c.js --\nexport class C { x() {} z() {} }\n" +
				"-- s/d.js --\nexport class D { y() {} z() {} }\n-- s/e.js --\nexport class E { y() {} z() {} x() {} }\n",
			want: []string{},
		},
		{
			name:  "a group with an exception",
			audit: `{"convention_exception_globs": ["s/d.js"]}`,
			tree:  "-- s/a.js --\nexport class A { x() {} }\n-- s/b.js --\nexport class B { x() {} }\n-- s/c.js --\nexport class C { x() {} }\n-- s/e.js --\nexport class E { x() {} }\n-- s/d.js --\nexport class D { y() {} }\n",
			want:  []string{},
		},
		{
			name: "packages of a directory",
			tree: "-- go.mod --\nmodule m\n-- driver/a/a.go --\npackage a\n\nfunc New() int { return 1 }\n-- driver/b/b.go --\npackage b\n\nfunc New() int { return 1 }\n" +
				"-- driver/c/c.go --\npackage c\n\nfunc New(x int) int { return x }\n-- driver/d/d.go --\npackage d\n\nfunc Make() int { return 1 }\n-- driver/e/e.go --\npackage e\n\nfunc New() int { return 1 }\n" +
				"-- driver/drivertest/x.go --\npackage drivertest\n\nfunc Suite() {}\n",
			want: []string{
				"driver/c/c.go:0 signature_mismatch info heuristic New",
				"driver/d/d.go:0 missing_method warning heuristic New",
			},
		},
		{
			name: "copies",
			tree: "-- a/a.go --\npackage a\n\nfunc sum(values []int, limit int) int " + body + "\n-- b/b.go --\npackage b\n\n// Sum is a copy.\nfunc Sum(values []int, limit int) int " +
				strings.Replace(body, "continue", "continue // a comment", 1) + "\n-- c/c_linux.go --\npackage c\n\nfunc same(a []int) int { x := 1; _ = x; for i := range a { x += i*2 + 3 - 4; if x > 5 { x = x*x + i } }\n\n\n\n return x }\n" +
				"-- c/c_other.go --\npackage c\n\nfunc same(a []int) int { x := 1; _ = x; for i := range a { x += i*2 + 3 - 4; if x > 5 { x = x*x + i } }\n\n\n\n return x }\n",
			want: []string{
				"a/a.go:3 duplicate_function warning structural sum",
				"b/b.go:4 duplicate_function warning structural Sum",
			},
		},
		{
			name: "copies in tests and in generated code",
			tree: "-- a/a_test.go --\npackage a\n\nfunc sum(values []int, limit int) int " + body + "\n-- b/b_test.go --\npackage b\n\nfunc sum(values []int, limit int) int " + body +
				"\n-- g/g.go --\n// Code generated by x. DO NOT EDIT.\n\npackage g\n\nfunc sum(values []int, limit int) int " + body,
			want: []string{
				"a/a_test.go:3 duplicate_function info structural sum",
				"b/b_test.go:3 duplicate_function info structural sum",
			},
		},
		{
			name:    "markers",
			version: "2.5.0",
			tree: "-- a.go --\npackage a\n\n// TODO(x): this\n// TODOs are not one\n/*\nFIXME that\n*/\nvar a = \"// TODO no\"\n\n// F is old.\n//\n// Deprecated: since v2.1, use G.\nfunc F() {}\n\n// G is young.\n//\n// Deprecated: since v2.4.\nfunc G() {}\n" +
				"-- b.py --\nx = \"# TODO no\"  # TODO: yes\n-- c.php --\n<?php\n/**\n * @deprecated 1.9.0 Use other.\n */\n# HACK here\n$a = 'it''s // XXX';\n-- d.rs --\nfn f<'a>(x: &'a str) -> char { '\"' } // TODO rust\n",
			want: []string{
				"a.go:3 todo_marker info structural TODO(x): this",
				"a.go:6 todo_marker info structural FIXME that",
				"a.go:12 deprecation_age warning graph Deprecated: since v2.1, use G.",
				"b.py:1 todo_marker info structural TODO: yes",
				"c.php:3 deprecation_age warning graph @deprecated 1.9.0 Use other.",
				"c.php:5 todo_marker info structural HACK here",
				"d.rs:1 todo_marker info structural TODO rust",
			},
		},
		{
			name:  "tests by mapping",
			audit: `{"test_mapping": {"source_dirs": ["src"], "test_dirs": ["tests"], "test_file_pattern": "tests/{dir}/{name}Test.{ext}", "method_prefix": "test", "skip_test_patterns": ["src/gen/"]}}`,
			tree: "-- src/a/One.js --\nexport class One { run() {} _x() {} }\n-- src/a/Two.js --\nexport class Two { run() {} }\n-- src/gen/Three.js --\nexport class Three {}\n" +
				"-- tests/a/OneTest.js --\nexport class OneTest { testOther() {} }\n-- tests/TwoTest.js --\nexport class TwoTest { testRun() {} }\n-- tests/a/FourTest.js --\nexport class FourTest { testRun() {} }\n-- tests/bootstrap.js --\nx()\n",
			want: []string{
				"src/a/One.js:1 missing_test_method info heuristic run",
				"src/a/Two.js:0 missing_test_file warning structural tests/a/TwoTest.js",
				"tests/TwoTest.js:0 orphaned_test warning graph tests/TwoTest.js",
				"tests/a/FourTest.js:0 orphaned_test warning graph tests/a/FourTest.js",
			},
		},
		{
			name: "a package without a test",
			tree: "-- go.mod --\nmodule m\n-- a/a.go --\npackage a\n\nfunc sum(values []int, limit int) int " + body + "-- b/b.go --\npackage b\n\nfunc Sum(values []int, limit int) int { return limit }\n-- c/c.go --\npackage c\n\nfunc Count(values []int, limit int) int { x := 1; y := 2\n for i := range values { x += i; y += x; if x > y { return 3*x + 4*y + i } }; return x + y + 2*x*y }\n" +
				"-- d/d_test.go --\npackage d\n\nimport _ \"m/c\"\n",
			want: []string{"a/a.go:0 missing_test_file warning structural a"},
		},
		{
			name: "layers",
			rules: `{"layer_rules": [
				{"name": "core", "forbid": {"glob": "core/**", "imports": ["ui/**", "net/http"]}, "allow": {"glob": "core/web/**"}},
				{"name": "words", "forbid": {"glob": "**/*.php", "patterns": ["JobStatus::"]}}]}`,
			tree: "-- go.mod --\nmodule example.com/m\n-- core/a.go --\npackage core\n\nimport (\n\t_ \"example.com/m/ui/list\"\n\t_ \"net/http\"\n\t_ \"net/url\"\n)\n-- core/web/b.go --\npackage web\n\nimport _ \"net/http\"\n-- ui/list/l.go --\npackage list\n" +
				"-- core/x.js --\nimport '../ui/y.js'\n-- ui/y.js --\nlet y\n-- a.php --\n<?php // JobStatus:: in words\n$x = JobStatus::DONE;\n",
			want: []string{
				"a.php:2 layer_ownership_violation warning heuristic JobStatus::",
				"core/a.go:4 layer_ownership_violation warning graph example.com/m/ui/list",
				"core/a.go:5 layer_ownership_violation warning graph net/http",
				"core/x.js:1 layer_ownership_violation warning graph ../ui/y.js",
			},
		},
		{
			name:  "features",
			audit: `{"feature_patterns": ["register_post_type\\(\\s*'([^']+)'", "Route\\(\"(?P<name>[^\"]+)\""], "feature_labels": {"register_post_type": "post type"}, "doc_targets": {"post type": {"file": "docs/types.md"}}}`,
			tree: "-- a.php --\n<?php\nregister_post_type( 'book' );\nregister_post_type(\n 'film' );\n-- r.go --\npackage r\n\nvar a = Route(\"/told\")\nvar b = Route(\"/secret\")\n" +
				"-- docs/types.md --\nA book.\n-- README.md --\nThe film, and /told.\n",
			want: []string{
				"a.php:3 undocumented_feature warning heuristic film",
				"r.go:4 undocumented_feature warning heuristic /secret",
			},
		},
		{
			name:  "documents",
			audit: `{"ignore_claim_patterns": ["^src/old"]}`,
			tree: "-- README.md --\n# The Title\n\n[a](docs/a.md) [b](docs/b.md \"title\") [c](#the-title) [d](#nothing) ![p](<docs/no pic.png>)\n[e](https://x.example/y) [f](docs/a.md#part-two) [g](docs/a.md#part-three) [h](mailto:x@example.com)\n\n```sh\n[x](not/a/link.md)\n```\n\n`[y](no.md)` and `src/gone.go` and `src/there.go:12` and `src/old.go` and `elsewhere/x.go`\n\n" +
				"    [code](no.md)\n\n- item\n\n    [in a list](gone.md)\n\n[ref]: docs/none.md\n<a href=\"docs/nope.md\">x</a> [out](../../x.md) [root](/x.md) [query](docs/a.md?plain=1)\n" +
				"-- docs/a.md --\nPart Two\n========\n\n## Same\n## Same\n\n[self](#same-1) [up](../README.md#the-title) <a id=\"here\"></a> [here](#here)\n-- src/there.go --\npackage src\n-- CHANGELOG.md --\n[old](gone.md)\n",
			want: []string{
				"README.md:3 broken_doc_reference warning structural #nothing",
				"README.md:3 broken_doc_reference warning structural docs/b.md",
				"README.md:3 broken_doc_reference warning structural docs/no pic.png",
				"README.md:4 broken_doc_reference warning structural docs/a.md#part-three",
				"README.md:10 stale_doc_reference info heuristic src/gone.go",
				"README.md:16 broken_doc_reference warning structural gone.md",
				"README.md:18 broken_doc_reference warning structural docs/none.md",
				"README.md:19 broken_doc_reference warning structural docs/nope.md",
			},
		},
		{
			name: "requested detectors",
			audit: `{"requested_detectors": [
				{"id": "no-panic", "kind": "panic_call", "pattern": "^\\s*(?P<what>panic)\\(", "language": "go", "exclude_path_contains": ["skip"], "severity": "info"},
				{"id": "legacy", "type": "comment_regex", "pattern": "(?i)legacy"},
				{"id": "slug", "type": "derived_literal", "kind": "constant_backed_slug_literal", "pattern": "const (?P<label>\\w+) = \"(?P<value>[^\"]+)\"", "file_extensions": ["go"]},
				{"id": "conf", "pattern": "secret", "file_extensions": [".conf"]}]}`,
			tree: "-- a.go --\npackage a\n\nconst Slug = \"my-slug\"\n\n// A legacy thing.\nfunc f() string {\n\tpanic(\"legacy\")\n\treturn \"my-slug\"\n}\n-- skip/b.go --\npackage b\n\nfunc f() {\n\tpanic(1)\n}\n-- x.conf --\nsecret\n",
			want: []string{
				"a.go:5 legacy_comment warning heuristic legacy:legacy",
				"a.go:7 panic_call info heuristic no-panic:panic",
				"a.go:8 constant_backed_slug_literal warning heuristic slug:my-slug",
				"x.conf:1 requested warning heuristic conf:secret",
			},
		},
		{
			name:  "size, severity and what is ignored",
			audit: `{"limits": {"max_file_lines": 3, "max_items": 1, "max_directory_files": 1}, "severity": {"god_file": "info", "high_item_count": "off"}, "ignore": ["b/**"]}`,
			tree:  "-- a/a.go --\npackage a\n\nfunc f() {}\nfunc g() {}\n-- a/b.go --\npackage a\n-- b/c.go --\npackage b\n\nvar x = 1\nvar y = 2\n",
			want: []string{
				"a:0 directory_sprawl info structural ",
				"a/a.go:0 god_file info structural ",
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := run(t, Config{Root: plant(t, tt.tree), Component: raw(tt.audit), Rules: raw(tt.rules), Version: tt.version})
			got := lines(r)
			if tt.name != "a package without a test" {
				got = without(got, kindMissingTestFile, "tests by mapping", tt.name)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// without leaves out a kind that is another test's, but for the test of this name.
func without(list []string, kind, but, name string) []string {
	if name == but {
		return list
	}
	out := []string{}
	for _, l := range list {
		if !strings.Contains(l, " "+kind+" ") {
			out = append(out, l)
		}
	}
	return out
}

func TestNearDuplicates(t *testing.T) {
	t.Parallel()
	long := func(name, v string) string {
		line := "\tif " + v + " > 3 {\n\t\t" + v + " = " + v + "*2 + 1\n\t}\n"
		return "func " + name + "(" + v + " int) int {\n" + strings.Repeat(line, 12) + "\treturn " + v + "\n}\n"
	}
	r := run(t, Config{Root: plant(t, "-- a.go --\npackage a\n\n"+long("one", "x")+"\n"+long("two", "y"))})
	want := []string{"a.go:3 near_duplicate info heuristic one", "a.go:43 near_duplicate info heuristic two"}
	if diff := cmp.Diff(want, lines(r)); diff != "" {
		t.Error(diff)
	}
	if len(r.DuplicateGroups) != 1 || r.DuplicateGroups[0].Lines != 39 || !r.Passed {
		t.Errorf("groups %+v, passed %v", r.DuplicateGroups, r.Passed)
	}
}

// A language without a parser is read as text, and the report says so; nothing is guessed about its structure.
func TestUnparsedFilesAreSaid(t *testing.T) {
	t.Parallel()
	r := run(t, Config{Root: plant(t, "-- a.php --\n<?php function f() {}\n-- b.php --\n<?php\n-- c.go --\npackage {\n-- d.jsx --\nlet a = <b/>\n-- e.py --\nx = 1\n-- f.js --\nlet a = 1\n")})
	got := map[string]int{}
	for _, u := range r.Unparsed {
		got[u.Reason] = u.Count
	}
	want := map[string]int{"no parser for php": 2, "no parser for python": 1, "not valid Go": 1, "not JavaScript that the parser knows (JSX, types, or a fault)": 1}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if r.Summary.FilesParsed != 1 || r.Summary.FilesScanned != 6 {
		t.Errorf("%+v", r.Summary)
	}
}
