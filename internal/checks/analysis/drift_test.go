package analysis

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/checks/changed"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

// history makes a repository with one commit for each state; a file of "" is removed.
func history(t *testing.T, states ...map[string]string) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("missing tool: git: apt-get install git")
	}
	dir := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.org"}, args...)...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	git("init", "-q", "-b", "main")
	for _, files := range states {
		for p, text := range files {
			p = filepath.Join(dir, p)
			if text == "" {
				if err := os.Remove(p); err != nil {
					t.Fatal(err)
				}
				continue
			}
			if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		git("add", "-A")
		git("commit", "-q", "--allow-empty", "-m", "m")
	}
	return dir
}

// driftLines writes a drift in lines.
func driftLines(d runner.Drift) []string {
	var out []string
	for _, c := range d.ProductionChanges {
		out = append(out, fmt.Sprintf("%s %s:%d %s -> %s", c.ChangeType, c.File, c.Line, c.OldSymbol, c.NewSymbol))
	}
	for _, t := range d.DriftedTests {
		out = append(out, fmt.Sprintf("%s:%d [%d] %s", t.TestFile, t.Line, t.ChangeIndex, t.Content))
	}
	return out
}

// Edge case 47, for each language.
func TestDrift(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name          string
		before, after map[string]string
		cfg           DriftConfig
		want          []string
		fixable       int
	}{
		{
			name: "php: a renamed method and a changed code; comments and longer names do not count",
			before: map[string]string{
				"src/Cart.php":         "<?php\nclass Cart {\n  public function getTotal() {\n    return new Err('cart_is_empty');\n  }\n  public static function of() {}\n}\n",
				"tests/CartTest.php":   "<?php\n// getTotal is tested here\n$cart->getTotal();\n$cart->getTotals();\nassertSame('cart_is_empty', $e);\ncart_is_empty();\n",
				"tests/fixtures/a.php": "<?php $cart->getTotal();\n",
				"src/Other.php":        "<?php $cart->getTotal();\n",
			},
			after: map[string]string{
				"src/Cart.php": "<?php\nclass Cart {\n  public function sum() {\n    return new Err('cart_has_nothing');\n  }\n  public static function ofX() {}\n}\n",
			},
			want: []string{
				"method_rename src/Cart.php:3 getTotal -> sum",
				"error_code_change src/Cart.php:4 cart_is_empty -> cart_has_nothing",
				"tests/CartTest.php:3 [0] $cart->getTotal();",
				"tests/CartTest.php:5 [1] assertSame('cart_is_empty', $e);",
			},
			fixable: 2,
		},
		{
			name: "go: parsed, by package",
			before: map[string]string{
				"go.mod":            "module x.org/shop\n",
				"cart/cart.go":      "package cart\n\ntype Cart struct{ n int }\n\nfunc (c Cart) Total() int { return c.n }\n\nfunc (c Cart) Close() {}\n\nfunc helper() {}\n\nfunc Moved() {}\n\nfunc ok() {}\n",
				"cart/other.go":     "package cart\n\ntype Other struct{}\n\nfunc (Other) Close() {}\n",
				"cart/cart_test.go": "package cart\n\nimport \"testing\"\n\n// Total is what it is about.\nfunc TestTotal(t *testing.T) {\n\tif (Cart{}).Total() != 0 || \"Total\" == \"\" {\n\t\thelper()\n\t}\n\tMoved()\n\tok()\n}\n\nfunc local(helper int) (r struct{ Total int }) {\n\tTotal := helper\n\tr.n(Total)\n\treturn struct{ Total int }{Total: 1}\n}\n",
				"else/else_test.go": "package else_test\n\nfunc x(c interface{ Total() int }) { c.Total() }\n",
				"use/use_test.go":   "package use_test\n\nimport \"x.org/shop/cart\"\n\nvar _ = cart.Cart{}.Total\nvar o cart.Other\nfunc init() { o.Close() }\n",
			},
			after: map[string]string{
				"cart/cart.go":  "package cart\n\ntype Cart struct{ n int }\n\nfunc (c Cart) Sum() int { return c.n }\n\nfunc okay() {}\n",
				"cart/moved.go": "package cart\n\nfunc Moved() {}\n",
			},
			want: []string{
				"method_rename cart/cart.go:5 Total -> Sum",
				"method_removed cart/cart.go:7 Close -> ",
				"method_rename cart/cart.go:7 helper -> okay", // nothing tells it from a rename
				"cart/cart_test.go:7 [0] if (Cart{}).Total() != 0 || \"Total\" == \"\" {",
				"cart/cart_test.go:8 [2] helper()",
				"use/use_test.go:5 [0] var _ = cart.Cart{}.Total",
				"use/use_test.go:7 [1] func init() { o.Close() }", // the file knows Cart, so it may mean its Close
			},
			fixable: 3,
		},
		{
			name: "python: a renamed class, a moved module",
			before: map[string]string{
				"shop/cart.py":       "class Cart:\n    def total(self):\n        return 1\n\n    def add(self):\n        return 'long enough to be known again'\n",
				"tests/test_cart.py": "from shop.cart import Cart\n# Cart\nassert Cart().total()\nassert 'shop/cart' and 'shop/carts'\n",
			},
			after: map[string]string{
				"shop/cart.py":   "",
				"shop/basket.py": "class Basket:\n    def total(self):\n        return 1\n\n    def add(self):\n        return 'long enough to be known again'\n",
			},
			want: []string{
				"class_rename shop/basket.py:1 Cart -> Basket",
				"file_move shop/basket.py:1 shop/cart.py -> shop/basket.py",
				"tests/test_cart.py:1 [0] from shop.cart import Cart",
				"tests/test_cart.py:1 [1] from shop.cart import Cart",
				"tests/test_cart.py:3 [0] assert Cart().total()",
				"tests/test_cart.py:4 [1] assert 'shop/cart' and 'shop/carts'",
			},
			fixable: 4,
		},
		{
			name: "js: a removed function; another language's tests do not count",
			before: map[string]string{
				"src/cart.ts":        "export const totalOf = (c: Cart): number => {\n  return 1;\n};\n\nexport class Cart {\n  addItem(x: Item) {\n  }\n}\n",
				"src/cart.test.ts":   "import { totalOf } from './cart';\nexpect(totalOf(c)).toBe(1);\nc.addItem(x);\n",
				"tests/test_cart.py": "totalOf(c)\n",
			},
			after: map[string]string{"src/cart.ts": "export class Cart {\n  addItem(x: Item) {\n  }\n}\n"},
			want: []string{
				"method_removed src/cart.ts:1 totalOf -> ",
				"src/cart.test.ts:1 [0] import { totalOf } from './cart';",
				"src/cart.test.ts:2 [0] expect(totalOf(c)).toBe(1);",
			},
		},
		{
			name:   "rust: tests inside the source",
			before: map[string]string{"src/lib.rs": "pub fn total_of() -> u8 { 1 }\n\nfn other() { total_of(); }\n\n#[cfg(test)]\nmod tests {\n    fn t() { super::total_of(); }\n}\n"},
			after:  map[string]string{"src/lib.rs": "pub fn sum_of() -> u8 { 1 }\n\nfn other() { total_of(); }\n\n#[cfg(test)]\nmod tests {\n    fn t() { super::total_of(); }\n}\n"},
			cfg:    DriftConfig{InlineTests: true},
			want: []string{
				"method_rename src/lib.rs:1 total_of -> sum_of",
				"src/lib.rs:7 [0] fn t() { super::total_of(); }",
			},
			fixable: 1,
		},
		{
			name: "what lies outside the patterns is not looked at",
			before: map[string]string{
				"lib/a.php": "<?php\nfunction in_lib() {}\n", "src/b.php": "<?php\nfunction in_src() {}\n", "src/c.inc": "<?php\nfunction in_inc() {}\n",
				"spec/a.php": "<?php in_lib(); in_src(); in_inc();\n", "tests/ATest.php": "<?php in_src();\n",
			},
			after: map[string]string{"lib/a.php": "<?php\nfunction lib_new() {}\n", "src/b.php": "<?php\nfunction src_new() {}\n", "src/c.inc": "<?php\nfunction inc_new() {}\n"},
			cfg:   DriftConfig{Mapping: changed.Mapping{SourceDirs: []string{"src"}, TestDirs: []string{"spec"}}, Extensions: []string{"php"}},
			want: []string{
				"method_rename src/b.php:2 in_src -> src_new",
				"spec/a.php:1 [0] <?php in_lib(); in_src(); in_inc();",
				"tests/ATest.php:1 [0] <?php in_src();",
			},
			fixable: 2,
		},
		{
			name:   "go that does not parse is read line by line",
			before: map[string]string{"a.go": "package a\n\nfunc Total() {}\n", "a_test.go": "package a\n\nvar _ = Total\n"},
			after:  map[string]string{"a.go": "package a\n\nfunc Sum() {\n"},
			want:   []string{"method_rename a.go:3 Total -> Sum", "a_test.go:3 [0] var _ = Total"}, fixable: 1,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cfg := c.cfg
			cfg.Component, cfg.Dir = "shop", history(t, c.before, c.after)
			got, err := Drift(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, driftLines(got), cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
			if got.Since != "HEAD~1" || got.AutoFixable != c.fixable || got.TotalDriftReferences != len(got.DriftedTests) || got.TotalDriftedFiles != len(DriftedFiles(got)) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestDriftSeesWhatIsNotCommitted(t *testing.T) {
	t.Parallel()
	dir := history(t, map[string]string{"a.py": "def total():\n    pass\n", "test_a.py": "total()\n"})
	if err := os.WriteFile(filepath.Join(dir, "a.py"), []byte("def added():\n    pass\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := Drift(t.Context(), DriftConfig{Component: "c", Dir: dir, Since: "HEAD"})
	if err != nil || len(got.DriftedTests) != 1 {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := Drift(t.Context(), DriftConfig{Component: "c", Dir: dir, Since: "nosuch"}); err == nil || !strings.Contains(err.Error(), "nosuch") {
		t.Errorf("got %v", err)
	}
}

func TestNewLine(t *testing.T) {
	t.Parallel()
	s := source{File: changed.File{Hunks: []workspace.Hunk{
		{OldStart: 2, OldLines: 0, NewStart: 3, NewLines: 2}, // two lines after line 2
		{OldStart: 5, OldLines: 2, NewStart: 7, NewLines: 1}, // two lines became one
		{OldStart: 9, OldLines: 1, NewStart: 9, NewLines: 0}, // one line gone
	}}}
	for old, want := range map[int]int{1: 1, 2: 2, 3: 5, 4: 6, 5: 7, 6: 7, 7: 8, 8: 9, 9: 9, 10: 10} {
		if got := s.newLine(old); got != want {
			t.Errorf("%d: got %d, want %d", old, got, want)
		}
	}
}

func FuzzSymbols(f *testing.F) {
	f.Add("package a\nfunc F() {}\n", "class A { f() {\n}")
	f.Add("def f(:\n", "pub fn \xff\x00(")
	f.Fuzz(func(t *testing.T, old, now string) {
		for _, l := range languages {
			s := source{lang: l, before: []byte(old), now: []byte(now)}
			s.old, s.new = l.both(s.before, s.now)
			s.symbolChanges(nil)
			s.codeChanges()
		}
	})
}
