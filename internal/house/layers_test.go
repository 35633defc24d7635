package house

import (
	"go/ast"
	"path"
	"slices"
	"strings"
	"testing"
)

// The packages of the module from top to bottom. A package may import what stands below it, in its own layer too,
// and nothing else of the module. A new package is added here, at the place that its description in
// docs/ARCHITECTURE.md gives it.
var layers = []struct {
	name     string
	packages []string
}{
	{"command", []string{"cmd/deed"}},
	{"surface", []string{"internal/cli", "internal/top", "internal/server", "internal/page", "internal/api", "internal/mcpserver", "internal/access", "internal/problem", "internal/notify", "internal/feed"}},
	{"engine", []string{"internal/clone", "internal/view", "internal/report", "internal/answer", "internal/abilityrun", "internal/agenttask", "internal/fanoutrun", "internal/providertask", "internal/placement", "internal/dispatch", "internal/reclaim", "internal/schedule", "internal/outbox", "internal/sensor", "internal/workflow", "internal/task", "internal/promotion", "internal/handoff", "internal/runnerworkspace"}},
	{"run", []string{
		"internal/selfprovider", "internal/attempt", "internal/driver/script", "internal/driver/native", "internal/driver/command", "internal/driver/ollama", "internal/driver/acp", "internal/driver/opencode", "internal/driver/hermes", "internal/driver/codex", "internal/driver/claudecode", "internal/driver/packaged", "internal/driver/agentcli", "internal/driver/process", "internal/gate", "internal/check", "internal/fix", "internal/brief",
		"internal/loop", "internal/tool",
		"internal/driver", // the plug point: drivers stand above it, and the gate judges what it describes
	}},
	{"parts", []string{
		"internal/identity", "internal/skill", "internal/scaffold", "internal/conform", "internal/outcome", "internal/fanout", "internal/runtimepkg", "internal/runtimepkg/shipped", "internal/extension", "internal/project", "internal/sidecar", "internal/ratchet", "internal/analysis", "internal/undo", "internal/changed", "internal/audit", "internal/finding", "internal/observe", "internal/testreport", "internal/coverage", "internal/toolreport", "internal/helper",
		"internal/telemetry", "internal/telemetry/otlp", "internal/telemetry/exposition", "internal/boundary", "internal/model", "internal/model/scripted", "internal/usage", "internal/registry", "internal/action", "internal/policy", "internal/ability", "internal/wordpress", "internal/component", "internal/exectrace", "internal/sandbox", "internal/egress", "internal/toolchain", "internal/workspace", "internal/bundle", "internal/history", "internal/journal", "internal/redact", "internal/leak", "internal/store",
	}},
	{"base", []string{
		"internal/config", "internal/terminal", "internal/service", "internal/home", "internal/parcel", "internal/proc", "internal/state", "internal/atomicfile", "internal/plainfile",
		"internal/canonjson", "internal/failure", "internal/crashpoint", "internal/clock", "internal/excerpt",
	}},
	{"public", []string{"provider"}}, // for authors of packages: it stands on the contract alone
	{"contract", []string{
		"contract/schema/internal/schemagen", "contract/schema/internal/generate", "contract/schema",
		"contract/schema/internal/catalog", "contract/schema/internal/draft", "contract/homeboy", "contract/bridge", "contract/settings",
		"contract/agentruntime", "contract/codebox", "contract/deed", "contract/runner", "contract/fault",
	}},
}

// apart lists packages that stand beside the layers: nothing imports them, and they may import anything.
var apart = []string{"internal/house", "bench", "judge"}

// place returns the depth of a package from the top, and its layer.
func place(pkg string) (depth int, layer string, ok bool) {
	for _, l := range layers {
		if i := slices.Index(l.packages, pkg); i >= 0 {
			return depth + i, l.name, true
		}
		depth += len(l.packages)
	}
	return 0, "", false
}

// TestLayersAreCurrent keeps packages that are gone out of the table.
func TestLayersAreCurrent(t *testing.T) {
	t.Parallel()
	there := map[string]bool{}
	for _, f := range repository(t) {
		if f.inModule() {
			there[f.dir()] = true
		}
	}
	for _, l := range layers {
		for _, pkg := range l.packages {
			if !there[pkg] {
				t.Errorf("layer %s lists %s, which is not there", l.name, pkg)
			}
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
		depth, layer, ok := place(f.dir())
		if !ok {
			if !unlisted[f.dir()] {
				unlisted[f.dir()] = true
				found = append(found, f.at(f.ast.Name, "package %s has no place in the table of layers", f.dir()))
			}
			continue
		}
		if f.isTest() {
			continue
		}
		for target, spec := range f.imports() {
			if bad := importFault(f.dir(), depth, layer, target); bad != "" {
				found = append(found, f.at(ast.Node(spec), "%s", bad))
			}
		}
	}
	return found
}

// importFault says what is wrong with a production import, or nothing.
func importFault(from string, depth int, layer, target string) string {
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
	below, targetLayer, ok := place(pkg)
	switch {
	case !ok:
		return "imports " + pkg + ", which has no place in the table of layers"
	case below > depth:
		return ""
	case targetLayer == layer:
		return path.Base(from) + " imports " + path.Base(pkg) + ", which stands above it in layer " + layer
	default:
		return "layer " + layer + " imports " + pkg + " of layer " + targetLayer + " above it"
	}
}
