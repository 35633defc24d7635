package observe_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/internal/checks/testreport"
)

// goProject is a module with packages that pass, fail, have no tests and cannot be built.
var goProject = map[string]string{
	"go.mod":   "module example.com/m\n\ngo 1.24\n",
	"Makefile": ".PHONY: test\ntest:\n\tgo test ./...\n",
	"good/good_test.go": `package good

import (
	"fmt"
	"testing"
)

func TestGood(t *testing.T) { t.Log("quiet"); fmt.Println("printed <&> \u2028 and 100%") }
func TestOff(t *testing.T)  { t.Skip("later") }
`,
	"bad/bad_test.go": `package bad

import (
	"fmt"
	"testing"
)

func TestGood(t *testing.T) { t.Log("quiet"); fmt.Println("a good test printed \"this\"") }
func TestBad(t *testing.T) {
	t.Log("before")
	t.Run("inner", func(t *testing.T) { t.Error("no\nand two lines") })
	t.Run("fine", func(t *testing.T) { t.Log("quiet") })
}
`,
	"none/none.go":          "package none\n",
	"broken/broken_test.go": "package broken\n\nimport \"testing\"\n\nfunc TestNever(t *testing.T) { undefined() }\n",
	"leaves/leaves_test.go": "package leaves\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestFirst(t *testing.T) {}\nfunc TestLeaves(t *testing.T) { os.Exit(0) }\n",
	"panics/panics_test.go": "package panics\n\nimport \"testing\"\n\nfunc TestPanics(t *testing.T) { panic(\"oh\") }\n",
	"stdin/stdin_test.go":   "package stdin\n\nimport \"testing\"\n\nfunc TestFine(t *testing.T) {}\n",
	"nested/nested_test.go": "package nested\n\nimport (\n\t\"os/exec\"\n\t\"testing\"\n)\n\nfunc TestStartsGo(t *testing.T) { _ = exec.Command(\"go\", \"test\", \"../bad\").Run() }\n",
	"main/main_test.go":     "package main\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestMain(m *testing.M) { os.Exit(0) }\nfunc TestNever(t *testing.T) { t.Fatal() }\n",
}

func TestGoNames(t *testing.T) {
	t.Parallel()
	p := newProject(t, goProject)
	p.plain(t, "go test -json ./... >report.jsonl 2>errors")
	f, err := os.Open(p.dir + "/report.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	want, err := testreport.ParseAs(testreport.GoJSON, f)
	if err != nil {
		t.Fatal(err)
	}
	want.Locate(p.dir)
	for _, line := range []string{"go test ./...", "true && make test", "go test -v ./...", "GOFLAGS=-v go test ./...", "go test -json ./...", "go -C good version; go -C . test ./..."} {
		r, seen := p.observed(t, line)
		if diff := cmp.Diff(results(want.Cases), results(seen.Cases)); diff != "" {
			t.Errorf("%s: the tests differ: %s\n%s%s", line, diff, r.stdout, r.stderr)
		}
		if diff := cmp.Diff([]string{"go"}, seen.Runners); diff != "" || len(seen.Faults) > 0 {
			t.Errorf("%s: runners %s, faults %q", line, diff, seen.Faults)
		}
	}
	text := strings.Join(results(want.Cases), "\n")
	for _, name := range []string{"failed example.com/m/bad::TestBad/inner", "failed example.com/m/broken::[build]", "failed example.com/m/leaves::TestLeaves", "passed example.com/m/nested::TestStartsGo", "skipped example.com/m/good::TestOff"} {
		if !strings.Contains(text, name) {
			t.Errorf("%q is not among\n%s", name, text)
		}
	}
}

var times = regexp.MustCompile(`\d+\.\d+s\b|goroutine \d+|0x[0-9a-f]+|\+?\{0x.*\}|\(cached\)`)

// TestGoLooksTheSame: people see of go test what they see without a shim.
func TestGoLooksTheSame(t *testing.T) {
	t.Parallel()
	p := newProject(t, goProject)
	for _, line := range []string{
		"go test ./good ./bad ./none ./broken", "go test -v ./good ./bad", "cd good && go test", "cd bad && go test", "cd bad && go test -v .", "go test ./leaves", "go test -run TestGood ./good ./bad",
		"go test ./missing", "go test -nosuchflag", "go test -cover ./good ./none", "go test -c -o /dev/null ./good", "go vet ./good", "go version", "go", "go test -list . ./good", "go test -json -run TestOff ./good >/dev/null",
		"go test -args ./good -v", "go test ./main", "cat; go test -count 1 ./stdin; echo $?", "go test -bench . -benchtime 1x ./good | grep -v ^cpu",
	} {
		want := p.plain(t, line)
		got, _ := p.observed(t, line)
		mask := func(s string) string { return times.ReplaceAllString(s, "T") }
		if diff := cmp.Diff(mask(want.stdout), mask(got.stdout)); diff != "" {
			t.Errorf("%s: standard output differs: %s", line, diff)
		}
		if diff := cmp.Diff(mask(want.stderr), mask(got.stderr)); diff != "" {
			t.Errorf("%s: standard error differs: %s", line, diff)
		}
		if want.code != got.code {
			t.Errorf("%s: ended with %d, and without a shim with %d", line, got.code, want.code)
		}
	}
}

// TestGoCache: what passed is not run again, with the shim as without it.
func TestGoCache(t *testing.T) {
	t.Parallel()
	p := newProject(t, goProject)
	p.observed(t, "go test ./good")
	if r, _ := p.observed(t, "go test ./good"); !strings.Contains(r.stdout, "(cached)") {
		t.Errorf("the second run is not cached: %s%s", r.stdout, r.stderr)
	}
}
