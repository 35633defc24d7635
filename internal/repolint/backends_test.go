package repolint

import (
	"go/ast"
	"go/token"
	"slices"
	"strconv"
)

// hosts are the packages that choose, run, judge and reconcile providers of runtime packages. deed's own packages are in
// runtimepkg/shipped, and what stands behind them is in selfprovider.
var hosts = []string{
	"internal/agent/runtimepkg", "internal/compat/homeboy/outcome", "internal/compat/homeboy/packaged", "internal/compat/homeboy/providertask", "internal/compat/homeboy/fanout", "internal/compat/homeboy/fanoutrun",
	"internal/engine/promote", "internal/compat/homeboy/conform",
}

// backends are names that a host could be tempted to know.
var backends = []string{"codex", "claude-code", "claude", "opencode", "local-shell", "wp-codebox", "codebox", "wp-playground", "pi", "fake-runtime", "browser"}

// aliasFile holds the one table of old names, which is the contract's.
const aliasFile = "internal/agent/runtimepkg/alias.go"

// checkBackends finds the names of backends in hosts (case 28 of the package contract).
func checkBackends(files []*file) []finding {
	var found []finding
	for _, f := range files {
		if f.ast == nil || f.isTest() || f.path == aliasFile || !slices.Contains(hosts, f.dir()) {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			if text, err := strconv.Unquote(lit.Value); err == nil && slices.Contains(backends, text) {
				found = append(found, f.at(lit, "%q is the name of a backend", text))
			}
			return true
		})
	}
	return found
}
