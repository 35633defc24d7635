package attempt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/deedrun/deed/internal/evidence/leak"
	"github.com/deedrun/deed/internal/evidence/workspace"
	"github.com/deedrun/deed/internal/isolate/redact"
)

// leaks is what is known of undeclared secrets in the change. From when they are found they are hidden like declared
// ones: even if the agent removes them again, its output may have them.
type leaks struct {
	named  *redact.Redactor  // of the declared secrets
	hidden map[string]string // values that were found, by name
	report leak.Report       // for the current change
}

// beginLeaks resets to the declared secrets, before the change is searched again.
func (a *run) beginLeaks() {
	if a.leaks.named == nil {
		a.leaks.named = a.redactor
	}
	a.redactor, a.leaks.report = a.leaks.named, leak.Report{}
}

// findLeaks searches the changed files for undeclared secrets, and hides those that it finds. Secrets that the base
// had, and those in files that may hold secrets, are not held against the agent.
func (a *run) findLeaks(ctx context.Context) error {
	root, err := os.OpenRoot(a.path("workspace"))
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	var search, allowed []leak.File
	for _, c := range a.changes.Of(workspace.ClassTracked) {
		if c.After == nil || c.After.Kind != workspace.KindFile || c.Status == workspace.ModeChanged {
			continue
		}
		f := leak.File{Path: c.Path, Open: opener(root, c.Path)}
		if workspace.MatchAny(a.plan.spec.AllowSecrets, c.Path) {
			allowed = append(allowed, f)
		} else {
			search = append(search, f)
		}
	}
	if a.leaks.report, err = leak.Scan(ctx, search, leak.Limits{}); err != nil {
		return err
	}
	if err := a.dropKnown(); err != nil {
		return err
	}
	a.leaks.add()
	if err := a.leaks.allow(allowed); err != nil {
		return err
	}
	if len(a.leaks.hidden) > 0 {
		all := maps.Clone(a.leaks.hidden)
		maps.Copy(all, a.plan.hidden)
		a.redactor = redact.New(all)
	}
	return nil
}

func opener(root *os.Root, path string) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) { return root.Open(filepath.FromSlash(path)) }
}

// dropKnown drops findings that the changed files of the base had already, wherever they are now, and those that are
// declared.
func (a *run) dropKnown() error {
	found := &a.leaks.report.Findings
	*found = slices.DeleteFunc(*found, func(f leak.Finding) bool { return a.redactor.Contains([]byte(f.Value())) })
	if len(*found) == 0 {
		return nil
	}
	base, err := a.base.Dir()
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(base)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	for _, c := range a.changes.Of(workspace.ClassTracked) {
		if c.Before == nil || c.Before.Kind != workspace.KindFile || len(*found) == 0 {
			continue
		}
		text, err := root.ReadFile(filepath.FromSlash(c.Path))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("look into the base for secrets: %w", err)
		}
		before := bare(text)
		*found = slices.DeleteFunc(*found, func(f leak.Finding) bool { return bytes.Contains(before, bare([]byte(f.Value()))) })
	}
	return nil
}

// bare removes white space from a text: a key that was indented is the same key.
func bare(text []byte) []byte {
	return bytes.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, text)
}

// add hides the values of the report, each under a name that shows its kind.
func (l *leaks) add() {
	if l.hidden == nil {
		l.hidden = map[string]string{}
	}
	for _, f := range l.report.Findings {
		if slices.Contains(slices.Collect(maps.Values(l.hidden)), f.Value()) {
			continue
		}
		name := f.Rule
		for n := 2; l.hidden[name] != ""; n++ {
			name = fmt.Sprintf("%s-%d", f.Rule, n)
		}
		l.hidden[name] = f.Value()
	}
}

// allow stops hiding what was found before and is now in files that may hold secrets: the patch could not be applied
// with it hidden.
func (l *leaks) allow(files []leak.File) error {
	for _, f := range files {
		if len(l.hidden) == 0 {
			return nil
		}
		r, err := f.Open()
		if err != nil {
			return err
		}
		text, err := io.ReadAll(r)
		if err = errors.Join(err, r.Close()); err != nil {
			return err
		}
		maps.DeleteFunc(l.hidden, func(_, value string) bool {
			return strings.Contains(string(text), value) && !slices.ContainsFunc(l.report.Findings, func(f leak.Finding) bool { return f.Value() == value })
		})
	}
	return nil
}
