package fix

import (
	"context"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"

	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

// maxParsed is the size beyond which a file is not parsed.
const maxParsed = 8 << 20

// Syntax parses the files of the language that deed reads itself, which is Go. It is quick, and says where; for other
// languages the syntax is what their lint script looks at first.
func Syntax(dir string) Step {
	return Step{Phase: runner.PhaseSyntax, Run: func(ctx context.Context, files []string) (runner.Phase, error) {
		root, err := os.OpenRoot(dir)
		if err != nil {
			return runner.Phase{}, err
		}
		defer func() { _ = root.Close() }()
		n := 0
		for _, f := range files {
			if ctx.Err() != nil {
				return runner.Phase{}, context.Cause(ctx)
			}
			if path.Ext(f) != ".go" {
				continue
			}
			n++
			if err := parse(root, f); err != nil {
				return runner.Phase{Status: runner.StatusFailed, Summary: fmt.Sprintf("%s does not parse: %v", workspace.Display(f), err)}, nil
			}
		}
		if n == 0 {
			return runner.Phase{Status: runner.StatusSkipped, Summary: "no file of a language that deed parses itself"}, nil
		}
		return runner.Phase{Status: runner.StatusPassed, Summary: fmt.Sprintf("%d file(s) parse", n)}, nil
	}}
}

func parse(root *os.Root, p string) error {
	name := filepath.FromSlash(p)
	st, err := root.Lstat(name)
	if err != nil || !st.Mode().IsRegular() || st.Size() > maxParsed {
		return err
	}
	text, err := root.ReadFile(name)
	if err != nil {
		return err
	}
	_, err = parser.ParseFile(token.NewFileSet(), "", text, parser.SkipObjectResolution)
	return err
}
