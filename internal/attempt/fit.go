package attempt

import (
	"context"
	"maps"
	"path"
	"path/filepath"

	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/evidence/workspace"
	"github.com/deedrun/deed/internal/isolate/redact"
	"github.com/deedrun/deed/internal/isolate/sandbox"
)

// fit asks the driver what this task needs, before the sandbox is built. Secrets that it finds are hidden from now
// on, like those that the task names.
func (a *run) fit(ctx context.Context) error {
	d, ok := a.plan.driver.(driver.Fitted)
	if !ok {
		return nil
	}
	f, err := d.Fit(ctx, a.job())
	if err != nil {
		return classify(ctx, failure.Config, "look at the task", err)
	}
	if err := redactable(f.Secrets); err != nil {
		return err
	}
	maps.Copy(a.plan.secrets, f.Secrets)
	maps.Copy(a.plan.hidden, f.Secrets)
	a.redactor = redact.New(a.plan.hidden)
	a.plan.fit = f
	if f.ReadOnly != "" {
		held := "declared" // the gate rejects changes to it
		if a.plan.contained() {
			held = "enforced"
		}
		a.note("read_only_workspace", map[string]any{"why": f.ReadOnly, "held": held, "writable": f.Writable})
	}
	return nil
}

// baseTree is the base as drivers see it: the part of it that the agent starts in.
type baseTree struct{ a *run }

func (t baseTree) Has(dir string) bool {
	e := t.a.before.Find(path.Join(t.a.workTree(), dir))
	return e != nil && e.Kind == workspace.KindDir
}

func (t baseTree) Dir() (string, error) {
	dir, err := t.a.base.Dir()
	return t.a.workDir(dir), err
}

// writable mounts directories of a read-only workspace that the agent may write to.
func (a *run) writable(dirs []string, readOnly bool) []sandbox.Mount {
	if !readOnly {
		return nil
	}
	var out []sandbox.Mount
	for _, dir := range dirs {
		out = append(out, sandbox.Mount{
			Source: filepath.Join(a.workDir(a.path("workspace")), filepath.FromSlash(dir)), Target: path.Join(a.main().Target, dir), Writable: true,
		})
	}
	return out
}
