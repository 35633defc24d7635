package analysis

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/runner"
)

func php(message string) runner.TestFailure {
	return runner.TestFailure{TestName: "t", TestFile: "tests/ATest.php", ErrorType: `PHPUnit\Framework\Error`, Message: message}
}

func in(file, message string) runner.TestFailure {
	return runner.TestFailure{TestName: "t", TestFile: file, ErrorType: "Error", Message: message}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		f    runner.TestFailure
		want string
	}{
		{php(`Error: Call to undefined method App\Cart::total()`), `missing_method::App\Cart::total`},
		{php(`Class "App\Cart" not found`), `missing_class::App\Cart`},
		{php(`Call to undefined function make_cart()`), `missing_function::make_cart`},
		{php(`Cannot redeclare make_cart() (previously declared in a.php:3)`), `fatal_redeclare::make_cart`},
		{php(`Failed asserting that null is an instance of class "App\Cart".`), `wrong_type::App\Cart`},
		{php("Failed asserting that two strings are identical.\n  more"), "assertion_mismatch::identical::failed_asserting_that_two_strings_are_identical__more"},
		{php("Failed asserting that 3 matches expected 4."), "assertion_mismatch::expected::failed_asserting_that_3_matches_expected_4_"},
		{php("Failed asserting that false is true."), "assertion_mismatch::true::failed_asserting_that_false_is_true_"},
		{php("Failed asserting that 'a' is null."), "assertion_mismatch::null::failed_asserting_that__a__is_null_"},
		{php(`Unexpected WP_Error with code "rest_forbidden"`), "wp_error::rest_forbidden"},
		{php(`f(): Argument #1 must be of type int, string given`), "type_error::f()__argument_#1_must_be_of_type_int,_string_given"},
		{php(`Trying to stub a final method`), "mock_error::trying_to_stub_a_final_method"},
		{php(`Method getMock is gone`), "mock_config::method_getmock_is_gone"},
		{php("Something\tElse: \"x\\y\""), "PHPUnit_Framework_Error::something_else___x_y_"},
		{runner.TestFailure{Message: "only a message"}, "unknown::only_a_message"},

		{in("a_test.go", "a_test.go:12:4: c.Total undefined (type *shop.Cart has no field or method Total)"), "missing_method::shop.Cart::Total"},
		{in("a_test.go", "./a_test.go:3:2: undefined: NewCart"), "missing_function::NewCart"},
		{in("a_test.go", "    a_test.go:12: Total() = 3, want 4: got 3, want 4"), "assertion_mismatch::equal::total()_=__,_want____got__,_want__"},
		{in("b_test.go", "b_test.go:99: Total() = 7, want 9: got 7, want 9"), "assertion_mismatch::equal::total()_=__,_want____got__,_want__"},
		{in("a_test.go", "panic: runtime error: invalid memory address or nil pointer dereference\n[signal SIGSEGV addr=0x18]"), "nil_dereference::nil pointer dereference"},
		{in("a_test.go", "panic: no such thing 0xc000123456"), "panic::no_such_thing"},
		{in("a_test.go", "not enough arguments in call to shop.New\n\thave ()\n\twant (int)"), "signature::not enough::shop.New"},
		{in("a.test.ts", "TypeError: cart.total is not a function\n    at x (a.test.ts:3:4)"), "missing_method::cart.total"},
		{in("a.test.ts", "Cannot find module './cart' from 'a.test.ts'"), "missing_module::./cart"},
		{in("a.test.ts", "\x1b[2mexpect(\x1b[22mreceived\x1b[2m).\x1b[22mtoBe(expected)\n\nExpected: 4\nReceived: 3"), "assertion_mismatch::equal::expect(received)_tobe(expected)_expected__" + "__received___"},
		{in("a.test.ts", "TypeError: Cannot read properties of undefined (reading 'id')"), "nil_dereference::id"},
		{in("test_a.py", "AttributeError: 'Cart' object has no attribute 'total'"), "missing_method::Cart::total"},
		{in("test_a.py", "ImportError: cannot import name 'Cart' from 'shop.cart' (/tmp/x/cart.py)"), "missing_function::Cart::shop.cart"},
		{in("test_a.py", "ModuleNotFoundError: No module named 'shop'"), "missing_module::shop"},
		{in("test_a.py", "TypeError: total() missing 1 required positional argument: 'x'"), "signature::total"},
		{in("tests/a.rs", "no method named `total` found for struct `Cart` in the current scope"), "missing_method::total::Cart"},
		{in("tests/a.rs", "called `Option::unwrap()` on a `None` value"), "nil_dereference::Option::unwrap"},
	} {
		if got := key(c.f); got != c.want {
			t.Errorf("%q:\n got %q\nwant %q", c.f.Message, got, c.want)
		}
	}
}

func TestCategories(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		"PHP Fatal error: x": catFatal, "Cannot redeclare f()": catFatal, "panic: x": catFatal,
		"Call to undefined method A::b()": catMissingMethod, "x.f is not a function": catMissingMethod, "undefined: X": catMissingMethod,
		`Class "A" not found`: catMissingClass, "No module named 'x'": catMissingClass,
		"Too few arguments to function f()":     catSignature,
		"f(): Return value must be of type int": catReturnType,
		`WP_Error code "a_b"`:                   catErrorCode,
		"Trying to stub x":                      catMock,
		"SQLSTATE: no such table: x":            catEnvironment, "dial tcp: connection refused": catEnvironment,
		"Failed asserting that false is true.": catAssertion, "got 1, want 2": catAssertion,
		"hm": catOther,
	} {
		if got := category(runner.TestFailure{Message: message}); got != want {
			t.Errorf("%q: got %s, want %s", message, got, want)
		}
	}
}

// Edge case 27.
func TestClusters(t *testing.T) {
	t.Parallel()
	var fs []runner.TestFailure
	for i, file := range []string{"tests/C.php", "tests/A.php", "tests/B.php"} {
		fs = append(fs, runner.TestFailure{TestName: fmt.Sprint("one", i), TestFile: file, Message: "Call to undefined method A::one()"})
	}
	fs = append(fs,
		runner.TestFailure{TestName: "two", TestFile: "tests/A.php", Message: "Call to undefined method A::two()"},
		runner.TestFailure{TestName: "zzz", TestFile: "tests/A.php", ErrorType: "Z", Message: "PHP Fatal error"},
		runner.TestFailure{TestName: "aaa", TestFile: "tests/A.php", ErrorType: "A", Message: "hm"})
	want := runner.Analysis{
		Component: "shop", TotalFailures: 6, TotalTests: 10, TotalPassed: 4,
		Clusters: []runner.Cluster{
			{
				ID: "missing_method::A::one", Pattern: "Call to undefined method A::one()", Category: catMissingMethod, Count: 3,
				AffectedFiles: []string{"tests/A.php", "tests/B.php", "tests/C.php"}, ExampleTests: []string{"one0", "one1", "one2"},
				SuggestedFix: suggestion("missing_method::A::one", catMissingMethod),
			},
			{ID: "A::hm", Pattern: "hm", Category: catOther, Count: 1, AffectedFiles: []string{"tests/A.php"}, ExampleTests: []string{"aaa"}},
			{ID: "Z::php_fatal_error", Pattern: "PHP Fatal error", Category: catFatal, Count: 1, AffectedFiles: []string{"tests/A.php"}, ExampleTests: []string{"zzz"}, SuggestedFix: suggestion("", catFatal)},
			{
				ID: "missing_method::A::two", Pattern: "Call to undefined method A::two()", Category: catMissingMethod, Count: 1,
				AffectedFiles: []string{"tests/A.php"}, ExampleTests: []string{"two"}, SuggestedFix: suggestion("missing_method::A::two", catMissingMethod),
			},
		},
		Hints: []string{
			"the largest cluster has 3 of 6: Call to undefined method A::one()",
			"the first 3 clusters are 83% of all failures",
			"begin with the fatal ones (1): they hide what comes after them",
			"4 can be repaired by replacing a name in the tests: see deed test --drift",
		},
	}
	for range 20 { // whatever the order of the failures: ties are in the order of their ids
		got := Clusters("shop", fs, &runner.TestResults{Total: 10, Passed: 4, Failed: 6})
		for i := range got.Clusters {
			if got.Clusters[i].Count == 3 {
				got.Clusters[i].ExampleTests = []string{"one0", "one1", "one2"}
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
		rand.Shuffle(len(fs), func(i, j int) { fs[i], fs[j] = fs[j], fs[i] })
	}
}

func TestClustersOfNothing(t *testing.T) {
	t.Parallel()
	if got := Clusters("c", nil, &runner.TestResults{Total: 3, Passed: 3}); !strings.Contains(got.Hints[0], "all passing") || got.Clusters == nil {
		t.Errorf("got %+v", got)
	}
	if got := Clusters("c", nil, &runner.TestResults{Total: 3, Passed: 1, Failed: 2}); strings.Contains(got.Hints[0], "all passing") {
		t.Errorf("failures that nobody told of became good news: %+v", got)
	}
	got := Clusters("c", []runner.TestFailure{{Message: "x"}}, &runner.TestResults{Passed: 9})
	if got.TotalTests != 1 || got.TotalPassed != 1 { // edge case 26
		t.Errorf("got %+v", got)
	}
}

func TestPatternOfVariants(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		messages []string
		want     string
	}{
		{[]string{"a b", "a\n b"}, "a b"},
		{[]string{"Expected the total to be 3 but was 4", "Expected the total to be 5 but was 6", "Expected the total to be 5 but was 6"}, "Expected the total to be (2 variants)"},
		{[]string{"short one", "short two"}, "short one"},
		{[]string{strings.Repeat("ü", 130)}, strings.Repeat("ü", 120)},
		{[]string{strings.Repeat("x", 30) + "ä", strings.Repeat("x", 30) + "ö"}, strings.Repeat("x", 30) + " (2 variants)"}, // ä and ö share a byte
	} {
		var fs []runner.TestFailure
		for _, m := range c.messages {
			fs = append(fs, runner.TestFailure{Message: m})
		}
		if got := pattern(fs); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// Edge case 27: a character of several bytes at the cut.
func FuzzClusters(f *testing.F) {
	for _, m := range []string{strings.Repeat("x", 79) + "üü", strings.Repeat("x", 119) + "日本", "\xff\xfe", "got \x00 want", "WP_Error 'a'", "panic: "} {
		f.Add(m, `A\B`, "a_test.go")
		f.Add(m, "", "")
	}
	f.Fuzz(func(t *testing.T, message, kind, file string) {
		got := Clusters("c", []runner.TestFailure{{Message: message, ErrorType: kind, TestFile: file}, {Message: message + "é", ErrorType: kind, TestFile: file}}, nil)
		n := 0
		for _, c := range got.Clusters {
			n += c.Count
			if !utf8.ValidString(c.ID) || !utf8.ValidString(c.Pattern) {
				t.Errorf("%q, %q: not valid", c.ID, c.Pattern)
			}
		}
		if n != 2 {
			t.Errorf("%d failures of 2", n)
		}
	})
}
