package identity

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/base/atomicfile"
	"github.com/deedrun/deed/internal/base/plainfile"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/evidence/bundle"
)

// ErrNoDraft says that a task drafted nothing that can be proposed.
var ErrNoDraft = errors.New("the task drafted no revision")

// artifactDir is where a bundle keeps what an agent left.
const artifactDir = "files/artifacts"

// FromTask reads the revision that a task drafted: artifacts named SOUL.md or PURPOSE.md of an accepted outcome, from its bundle,
// which must be whole and signed by a key that is trusted here. It proposes nothing.
func (b *Book) FromTask(ctx context.Context, taskID string, trusted []bundle.PublicKey) (Draft, error) {
	t, err := b.Store.Task(ctx, taskID)
	if err != nil {
		return Draft{}, err
	}
	d := Draft{TaskID: t.Record.TaskID, By: "task " + t.Record.TaskID}
	if t.Record.Status != agentruntime.TaskCompleted {
		return d, fmt.Errorf("task %s is %s, and only accepted work can be proposed: %w", d.TaskID, t.Record.Status, ErrNoDraft)
	}
	dir, err := b.acceptedBundle(ctx, d.TaskID)
	if err != nil {
		return d, err
	}
	v, err := bundle.Verify(dir, bundle.VerifyOptions{TrustedKeys: trusted, RequireSignature: true})
	if err != nil {
		return d, fmt.Errorf("verify the bundle of task %s: %w", d.TaskID, err)
	}
	if !v.Valid {
		return d, fmt.Errorf("the bundle of task %s is not valid (`deed verify %s` says why): %w", d.TaskID, dir, ErrNoDraft)
	}
	root, err := os.OpenRoot(filepath.Join(dir, filepath.FromSlash(artifactDir)))
	if errors.Is(err, fs.ErrNotExist) {
		return d, nothingIn(d.TaskID)
	}
	if err != nil {
		return d, fmt.Errorf("open the artifacts of task %s: %w", d.TaskID, err)
	}
	defer func() { _ = root.Close() }()
	for name, to := range map[string]*[]byte{SoulFile: &d.Soul, PurposeFile: &d.Purpose} {
		data, err := plainfile.ReadIn(root, name, MaxDocument)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return d, fmt.Errorf("read %s of task %s: %w", name, d.TaskID, err)
		}
		*to = data
	}
	if d.Soul == nil && d.Purpose == nil {
		return d, nothingIn(d.TaskID)
	}
	return d, nil
}

func nothingIn(taskID string) error {
	return fmt.Errorf("task %s left no artifact %s or %s: %w", taskID, SoulFile, PurposeFile, ErrNoDraft)
}

// acceptedBundle is the evidence of the attempt that completed a task.
func (b *Book) acceptedBundle(ctx context.Context, taskID string) (string, error) {
	list, err := b.Store.Attempts(ctx, taskID)
	if err != nil {
		return "", err
	}
	for _, t := range list {
		if t.State == string(agentruntime.StateCompleted) && t.BundleDir != "" {
			return filepath.Join(b.Home.Root(), filepath.FromSlash(t.BundleDir)), nil
		}
	}
	return "", fmt.Errorf("task %s has no bundle in %s: %w", taskID, b.Home.Root(), ErrNoDraft)
}

// Diff is what changes from one version to another, as git shows it.
func (b *Book) Diff(ctx context.Context, before, after Documents) ([]byte, error) {
	dir, release, err := atomicfile.TempDir(b.Home.Tmp(), "revision-*")
	if err != nil {
		return nil, fmt.Errorf("compare versions: %w", err)
	}
	defer release()
	defer func() { _ = os.RemoveAll(dir) }() // the sweep of the home's tmp finds it otherwise
	for side, d := range map[string]Documents{"before": before, "after": after} {
		for name, text := range map[string]string{SoulFile: d.Soul, PurposeFile: d.Purpose} {
			path := filepath.Join(dir, side, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), writeDocument(path, text)); err != nil {
				return nil, fmt.Errorf("compare versions: %w", err)
			}
		}
	}
	res, err := proc.Tool(ctx, proc.ToolSpec{
		Argv: []string{"git", "diff", "--no-index", "--no-color", "--no-ext-diff", "--no-textconv", "--no-prefix", "--no-renames", "--text", "before", "after"},
		Dir:  dir, Env: []string{"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CEILING_DIRECTORIES=" + filepath.Dir(dir), "LC_ALL=C"},
	})
	if err != nil {
		return nil, fmt.Errorf("compare versions: %w", err)
	}
	if res.ExitCode > 1 { // 1 is a difference
		return nil, fmt.Errorf("compare versions: %w", res.Check())
	}
	return res.Stdout, nil
}

// writeDocument leaves out what is not there, so that it is shown as new.
func writeDocument(path, text string) error {
	if text == "" {
		return nil
	}
	return os.WriteFile(path, []byte(text), 0o600)
}
