package changed

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestIsTest(t *testing.T) {
	t.Parallel()
	for p, want := range map[string]bool{
		"a_test.go": true, "x/a_test.go": true, "a.go": false, "_test.go": false, "tests/helper.go": false,
		"testdata/a_test.go": false, "tests/AThing.php": true, "tests/fixtures/a.php": false, "src/FooTest.php": true, "src/Latest.php": false,
		"test/test-foo.php": true, "a.test.ts": true, "a.spec.mjs": true, "a.tests.ts": false, "__tests__/a.js": true, "test_a.py": true,
		"a_test.py": true, "contest.py": false, "conftest.py": false, "a_tests.rs": true, "tests/it.rs": true, "tests/README.md": false,
		"node_modules/x/a.test.js": false, "lib_test.rs": true, "FooTests.swift": true, "src/test/java/AppTest.java": true,
	} {
		if got := IsTest(p); got != want {
			t.Errorf("%s: got %v", p, got)
		}
	}
}

// The built-in extensions name one directory for both, or one inside the other.
func TestMappingOfSharedDirectories(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		m    Mapping
		path string
		test bool
	}{
		{Mapping{SourceDirs: []string{"."}, TestDirs: []string{"."}}, "a.go", false},
		{Mapping{SourceDirs: []string{"."}, TestDirs: []string{"."}}, "x/a_test.go", true},
		{Mapping{SourceDirs: []string{"src", "."}, TestDirs: []string{"tests", "test"}}, "tests/helper.py", true},
		{Mapping{SourceDirs: []string{"src", "."}, TestDirs: []string{"tests", "test"}}, "src/a.py", false},
		{Mapping{SourceDirs: []string{"src", "lib"}, TestDirs: []string{"test", "src"}}, "src/a.ts", false},
		{Mapping{SourceDirs: []string{"src", "lib"}, TestDirs: []string{"test", "src"}}, "src/a.test.ts", true},
		{Mapping{SourceDirs: []string{"src"}, TestDirs: []string{"src/spec/"}}, "src/spec/a.js", true},
		{Mapping{SourceDirs: []string{"src"}, TestDirs: []string{"t"}}, "t/fixtures/a.js", false},
	} {
		if got := c.m.IsTest(c.path); got != c.test {
			t.Errorf("%v: %s: got %v", c.m, c.path, got)
		}
	}
}

func TestSelect(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		files []File
		all   []string
		m     Mapping
		more  []string
		want  Selection
	}{
		{
			"go: every test of the package", modified("p/a.go"),
			[]string{"p/a.go", "p/a_test.go", "p/b_test.go", "q/a_test.go"},
			Mapping{},
			nil,
			Selection{Tests: []string{"p/a_test.go", "p/b_test.go"}, Sources: 1},
		},
		{
			"a changed test, once, and a deleted one not at all",
			append(modified("p/a_test.go", "p/a.go"), File{Path: "p/old_test.go", Status: Deleted}),
			[]string{"p/a.go", "p/a_test.go"},
			Mapping{},
			[]string{"p/a_test.go"},
			Selection{Tests: []string{"p/a_test.go"}, Sources: 1},
		},
		{"a source without a test is told", modified("p/a.go"), []string{"p/a.go"}, Mapping{}, nil, Selection{Untested: []string{"p/a.go"}, Sources: 1}},
		{"what is no source asks for nothing", modified("README.md", "go.sum"), []string{"p/a_test.go"}, Mapping{}, nil, Selection{}},
		{
			"by name across directories and spellings",
			modified("src/UserService.ts", "src/user_list.py", "src/Order.php", "includes/class-cart-item.php"),
			[]string{"test/user-service.spec.tsx", "test/user-service.spec.py", "tests/test_user_list.py", "tests/unit/OrderTest.php", "tests/test-class-cart-item.php"},
			Mapping{},
			nil,
			Selection{Tests: []string{"test/user-service.spec.tsx", "tests/test-class-cart-item.php", "tests/test_user_list.py", "tests/unit/OrderTest.php"}, Sources: 4},
		},
		{
			"an index is about its directory", modified("src/cart/index.ts"),
			[]string{"src/cart/index.test.ts", "src/shop/index.test.ts", "tests/cart.test.ts"},
			Mapping{},
			nil,
			Selection{Tests: []string{"src/cart/index.test.ts", "tests/cart.test.ts"}, Sources: 1},
		},
		{
			"a renamed source selects by both names",
			[]File{{Path: "src/new.js", Old: "src/old.js", Status: Renamed}},
			[]string{"src/old.test.js", "src/new.js"},
			Mapping{},
			nil,
			Selection{Tests: []string{"src/old.test.js"}, Sources: 1},
		},
		{
			"a mapping's pattern", modified("inc/api/Foo.php", "docs/x.php"),
			[]string{"t/unit/api/Foo_spec.php", "inc/api/Foo.php"},
			Mapping{SourceDirs: []string{"inc/"}, TestDirs: []string{"t"}, TestPattern: "t/unit/{dir}/{name}_spec.{ext}"},
			nil,
			Selection{Tests: []string{"t/unit/api/Foo_spec.php"}, Sources: 1},
		},
		{"rust brings its tests along", modified("src/a.rs"), []string{"src/a.rs"}, Mapping{}, nil, Selection{Tests: []string{"src/a.rs"}, Sources: 1}},
		{"a deleted source", []File{{Path: "a.py", Status: Deleted}}, []string{"test_a.py"}, Mapping{}, nil, Selection{Tests: []string{"test_a.py"}, Sources: 1}},
	} {
		if diff := cmp.Diff(c.want, Select(c.files, c.all, c.m, c.more...), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}
