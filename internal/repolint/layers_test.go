package repolint

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// parts are the architecture, from top to bottom: a package may import packages of its own part and of those below it, and nothing
// else of the module. A part is a directory with all that is below it. A new package belongs in one of them; a new part needs its
// line in docs/ARCHITECTURE.md.
var parts = []string{
	"cmd/deed",
	"internal/cli",
	"internal/web",
	"internal/compat/homeboy",
	"internal/compat/codebox",
	"internal/engine",
	"internal/attempt",
	"internal/agent",
	"internal/checks",
	"internal/evidence",
	"internal/isolate",
	"internal/store",
	"internal/base",
	"provider", // for authors of runtime packages: it stands on the contract alone
	"contract",
}

// apart lists packages that stand beside the parts: nothing imports them, and they may import anything.
var apart = []string{"internal/repolint", "bench", "judge"}

// place returns the index of the part that a package belongs to.
func place(pkg string) (int, bool) {
	i := slices.IndexFunc(parts, func(part string) bool { return pkg == part || strings.HasPrefix(pkg, part+"/") })
	return i, i >= 0
}

// TestPartsAreCurrent keeps parts that are gone out of the table.
func TestPartsAreCurrent(t *testing.T) {
	t.Parallel()
	there := map[string]bool{}
	for _, f := range repository(t) {
		if !f.inModule() {
			continue
		}
		if i, ok := place(f.dir()); ok {
			there[parts[i]] = true
		}
	}
	for _, part := range parts {
		if !there[part] {
			t.Errorf("part %s is not there", part)
		}
	}
}

func checkLayers(files []*file) []finding {
	var found []finding
	unlisted := map[string]bool{}
	for _, f := range files {
		if !f.inModule() || isTestSupport(f.dir()) || slices.Contains(apart, f.dir()) {
			continue
		}
		part, ok := place(f.dir())
		if !ok {
			if !unlisted[f.dir()] {
				unlisted[f.dir()] = true
				found = append(found, f.at(f.ast.Name, "package %s belongs to no part", f.dir()))
			}
			continue
		}
		if f.isTest() {
			continue
		}
		for target, spec := range f.imports() {
			if bad := importFault(part, target); bad != "" {
				found = append(found, f.at(ast.Node(spec), "%s", bad))
			}
		}
	}
	return found
}

// importFault says what is wrong with a production import, or nothing.
func importFault(part int, target string) string {
	if target == "testing" {
		return "production code imports testing"
	}
	pkg, ours := strings.CutPrefix(target, module+"/")
	if !ours {
		return ""
	}
	if isTestSupport(pkg) {
		return "production code imports " + pkg + ", which supports tests"
	}
	if slices.Contains(apart, pkg) {
		return "nothing imports " + pkg
	}
	below, ok := place(pkg)
	switch {
	case !ok:
		return "imports " + pkg + ", which belongs to no part"
	case below >= part:
		return ""
	default:
		return parts[part] + " imports " + pkg + " of " + parts[below] + " above it"
	}
}
