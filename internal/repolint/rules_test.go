package repolint

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

// A rule looks at all files and returns what breaks it.
type rule struct {
	name  string
	why   string
	check func([]*file) []finding
}

// The rules. Each has an archive testdata/NAME.txtar of a small tree that breaks it.
var rules = []rule{
	{"layers", "imports point one way, so that each package can be read and tested with only what is below it", checkLayers},
	{"package-docs", "the first sentence of a package says what it owns", checkPackageDocs},
	{"processes", "internal/base/proc alone starts processes, because it alone ends whole trees", checkProcesses},
	{"time", "internal/base/clock alone reads the time, so that tests can set it", checkTime},
	{"sql", "internal/store alone speaks SQL, so that both engines stay behind one seam", checkSQL},
	{"files", "files are made through internal/base/atomicfile or with explicit flags; os.Create truncates and is not durable", checkFiles},
	{"start", "what a package computes when it is set up, every process pays for, the re-executed ones too", checkStart},
	{"backends", "a host of runtime packages knows no backend by name, so that anybody's package is served as deed's own are", checkBackends},
	{"length", "a file holds one thing", checkLength},
	{"dependencies", "every direct dependency has a reason in docs/DEPENDENCIES.md", checkDependencies},
	{"short", "what -short leaves out is said, and is never taken for a pass", checkShort},
	{"workshop", "the repository stands alone: nothing points to the machine it was written on", checkWorkshop},
	{"readme", "README.md is short", checkReadme},
	{"links", "relative links in documents lead somewhere", checkLinks},
}

func TestRepository(t *testing.T) {
	t.Parallel()
	files := repository(t)
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			for _, f := range r.check(files) {
				t.Error(f)
			}
			if t.Failed() {
				t.Logf("rule %s: %s", r.name, r.why)
			}
		})
	}
}

// TestRulesCatch feeds each rule the tree of its archive. The archive's comment lists the findings that it must
// report, one on a line, and it may report nothing else.
func TestRulesCatch(t *testing.T) {
	t.Parallel()
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(filepath.Join("testdata", r.name+".txtar"))
			if err != nil {
				t.Fatal(err)
			}
			var files []*file
			for _, member := range archive.Files {
				f, err := newFile(member.Name, expand(string(member.Data)))
				if err != nil {
					t.Fatal(err)
				}
				files = append(files, f)
			}
			var got []string
			for _, f := range r.check(files) {
				got = append(got, f.String())
			}
			slices.Sort(got)
			want := strings.Split(strings.TrimSpace(string(archive.Comment)), "\n")
			slices.Sort(want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
			if len(got) == 0 {
				t.Error("the archive breaks nothing")
			}
		})
	}
}

// expand lets an archive hold what no file of the repository may: "(-)" vanishes, as in "wo(-)rk", and @801@ and
// @121@ become that many lines.
func expand(text string) string {
	return strings.NewReplacer("(-)", "", "@121@\n", strings.Repeat("line\n", 121), "@801@\n", strings.Repeat("// line\n", 801)).Replace(text)
}
