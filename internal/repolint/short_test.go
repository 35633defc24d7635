package repolint

import (
	"go/ast"
	"go/token"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// checkShort wants the reason of a skip that testing.Short guards to say so. make quick counts such skips apart, and on the build machine they
// are failures: there every test runs.
func checkShort(files []*file) []finding {
	var found []finding
	for _, f := range files {
		if f.ast == nil {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			guard, ok := n.(*ast.IfStmt)
			if !ok || !callsShort(guard.Cond) {
				return true
			}
			ast.Inspect(guard.Body, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				if sel, ok := call.Fun.(*ast.SelectorExpr); ok && strings.HasPrefix(sel.Sel.Name, "Skip") && !saysShort(call) {
					found = append(found, f.at(call, `a skip under testing.Short begins with "short: " and says what the test needs`))
				}
				return true
			})
			return true
		})
	}
	return found
}

// callsShort reports whether a condition asks testing.Short.
func callsShort(cond ast.Expr) (yes bool) {
	ast.Inspect(cond, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		pkg, ok := sel.X.(*ast.Ident)
		yes = yes || ok && pkg.Name == "testing" && sel.Sel.Name == "Short"
		return true
	})
	return yes
}

// saysShort reports whether the reason of a skip begins as it must.
func saysShort(call *ast.CallExpr) bool {
	if len(call.Args) == 0 {
		return false
	}
	lit, ok := call.Args[0].(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return false
	}
	text, err := strconv.Unquote(lit.Value)
	return err == nil && strings.HasPrefix(text, "short: ")
}

// maxSubject is how many characters the first line of a commit may have.
const maxSubject = 72

// TestCommitSubjects reads the commits since the rule is checked, as far back as the clone knows them: a shallow one has few, and a source
// archive none.
func TestCommitSubjects(t *testing.T) {
	t.Parallel()
	const since = "2026-11-19T07:00:00Z"
	out, err := exec.CommandContext(t.Context(), "git", "-C", filepath.Join("..", ".."), "-c", "safe.directory=*", "log", "--since="+since, "--no-merges", "--format=%h %s").Output()
	if err != nil {
		t.Logf("no commits to look at: %v", err)
		return
	}
	for line := range strings.Lines(string(out)) {
		commit, subject, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if n := utf8.RuneCountInString(subject); n > maxSubject {
			t.Errorf("commit %s: the subject has %d characters, more than %d: %s", commit, n, maxSubject, subject)
		}
	}
}
