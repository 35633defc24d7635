package repolint

import (
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

func checkProcesses(files []*file) []finding {
	var found []finding
	for _, f := range files {
		if !f.isProduction() || f.under("internal/base/proc") {
			continue
		}
		if spec := f.imports()["os/exec"]; spec != nil {
			found = append(found, f.at(ast.Node(spec), "imports os/exec"))
		}
		found = append(found, f.uses("os", "StartProcess")...)
		found = append(found, f.uses("syscall", "ForkExec", "StartProcess", "Exec")...)
		found = append(found, f.uses("golang.org/x/sys/unix", "Exec")...)
	}
	return found
}

func checkTime(files []*file) []finding {
	var found []finding
	for _, f := range files {
		if f.isProduction() && !f.under("internal/base/clock") {
			found = append(found, f.uses("time", "Now", "Since", "Until")...)
		}
	}
	return found
}

func checkFiles(files []*file) []finding {
	var found []finding
	for _, f := range files {
		if !f.isProduction() {
			continue
		}
		found = append(found, f.uses("os", "Create")...)
		if spec := f.imports()["io/ioutil"]; spec != nil {
			found = append(found, f.at(ast.Node(spec), "imports io/ioutil"))
		}
	}
	return found
}

// checkStart wants patterns and templates compiled when they are first needed: sync.OnceValue does it.
func checkStart(files []*file) []finding {
	var found []finding
	for _, f := range files {
		if !f.isProduction() {
			continue
		}
		for _, u := range slices.Concat(f.uses("regexp", "MustCompile"), f.uses("text/template", "Must"), f.uses("html/template", "Must")) {
			if !f.later(u.line) {
				found = append(found, u)
			}
		}
	}
	return found
}

// later reports whether a line is in the body of a function that is not called where it stands.
func (f *file) later(line int) (in bool) {
	called := map[ast.Node]bool{}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			called[n.Fun] = true
		case *ast.FuncDecl, *ast.FuncLit:
			in = in || !called[n] && f.fset.Position(n.Pos()).Line <= line && line <= f.fset.Position(n.End()).Line
		}
		return !in
	})
	return in
}

// sqlModules are the drivers and what is built on them.
var sqlModules = []string{"database/sql", "github.com/jackc/pgx", "modernc.org/sqlite", "github.com/pressly/goose"}

// A statement at the start of a string: in capitals it is SQL whatever follows; in small letters it is only with
// marks that English does not have there, because "select one from the list" is a sentence.
var (
	sqlCapitals = regexp.MustCompile(`^\s*(SELECT\s|INSERT\s+INTO\s|UPDATE\s+\S+\s+SET\s|DELETE\s+FROM\s|(CREATE|ALTER|DROP)\s+(UNIQUE\s+)?(TABLE|INDEX|VIEW)\s|PRAGMA\s|BEGIN\s+IMMEDIATE|WITH\s+(RECURSIVE\s+)?\w+\s+AS\s)`)
	sqlSmall    = regexp.MustCompile(`^\s*(select\s.*[*,(].*\sfrom\s|insert\s+into\s+\S+\s*\(|update\s+\S+\s+set\s+\w+\s*=|delete\s+from\s+\S+\s+where\s|(create|alter|drop)\s+(unique\s+)?(table|index|view)\s+\w+\s*[(]|pragma\s+\w+\s*[=(;])`)
)

func checkSQL(files []*file) []finding {
	var found []finding
	for _, f := range files {
		if path.Ext(f.path) == ".sql" && !f.under("internal/store", corpus) {
			found = append(found, finding{f.path, 0, "SQL file outside internal/store"})
		}
		if !f.isProduction() || f.under("internal/store") {
			continue
		}
		for target, spec := range f.imports() {
			for _, m := range sqlModules {
				if target == m || strings.HasPrefix(target, m+"/") {
					found = append(found, f.at(ast.Node(spec), "imports %s", target))
				}
			}
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(lit.Value)
			text = strings.ReplaceAll(text, "\n", " ")
			if err == nil && (sqlCapitals.MatchString(text) || sqlSmall.MatchString(text)) {
				found = append(found, f.at(lit, "SQL in a string"))
			}
			return true
		})
	}
	return found
}
