package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/attempt"
	"github.com/deedrun/deed/internal/base/atomicfile"
	"github.com/deedrun/deed/internal/base/canonjson"
	"github.com/deedrun/deed/internal/base/plainfile"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/evidence/bundle"
	"github.com/deedrun/deed/internal/isolate/sandbox"
	"github.com/deedrun/deed/internal/store"
)

// rerunFlags are those of verify --rerun.
type rerunFlags struct {
	rerun             bool
	source, isolation string
}

func (f *rerunFlags) register(c *cobra.Command) {
	c.Flags().BoolVar(&f.rerun, "rerun", false, "run the checks of the bundle again and say whether the same comes out")
	c.Flags().StringVar(&f.source, "source", "", "with --rerun: `DIR` that the base is rebuilt from (default: the task's own source)")
	c.Flags().StringVar(&f.isolation, "isolation", "", "with --rerun: `KIND` of containment (default: the bundle's)")
}

// rerun verifies one bundle and repeats its checks.
func (a *app) rerun(ctx context.Context, dirs []string, o bundle.VerifyOptions, f rerunFlags) error {
	if len(dirs) != 1 {
		return usage(errors.New("--rerun takes one bundle"))
	}
	rep, err := bundle.Verify(dirs[0], o)
	if err != nil {
		return usage(err)
	}
	if !rep.Valid {
		return a.verify(dirs, o)
	}
	if err := a.open(ctx); err != nil {
		return err
	}
	in, drop, err := a.rerunInput(ctx, dirs[0], rep, f)
	if err != nil {
		return err
	}
	defer drop()
	if len(in.Spec.Checks) == 0 {
		return usage(errors.New("nothing can be run again: the task of this bundle had no checks"))
	}
	who, err := a.runner()
	if err != nil {
		return err
	}
	show := a.newProgress()
	defer show.clear()
	eng, err := a.engineOf(who, 1, show.step)
	if err != nil {
		return err
	}
	sup, err := proc.IdleSupervisor(proc.Options{Exe: who.exe})
	if err != nil {
		return err
	}
	defer func() { _ = sup.Close() }()
	out, err := eng.Runner.Rerun(ctx, sup, in)
	show.clear()
	if errors.Is(err, attempt.ErrBase) {
		return usage(fmt.Errorf("%w (give --source a directory with the files that the agent began with)", err))
	}
	if err != nil {
		return err
	}
	return a.showRerun(rep, in, out)
}

func (a *app) showRerun(rep bundle.Verification, in attempt.Rerun, out attempt.Repeated) error {
	if a.json {
		if err := a.emit(map[string]any{
			"schema": "deed/rerun/v1", "bundle": rep.BundleDirectory, "signature": rep.Signature, "same": out.Same, "base_digest": out.Base, "checks": out.Checks, "verdict": out.Verdict,
		}); err != nil {
			return err
		}
	} else {
		word := a.color.Green("same")
		if !out.Same {
			word = a.color.Red("other")
		}
		a.printf("%s %s\n", word, rep.BundleDirectory)
		a.field("base", out.Base)
		a.field("contained", string(in.Kind))
		for _, c := range out.Checks {
			mark := a.color.Green("✓")
			if !c.Same {
				mark = a.color.Red("✗")
			}
			a.printf("           %s check %s: recorded %s, now %s\n", mark, clean(c.Name), c.Recorded, c.Now)
			for _, d := range c.Differences {
				a.printf("             %s\n", clean(d))
			}
		}
	}
	if !out.Same {
		return errNotDone
	}
	return nil
}

// metadata is what a rerun needs of a bundle's metadata.
type metadata struct {
	Provenance struct {
		Task struct {
			AttemptID string `json:"attempt_id"`
			SpecHash  string `json:"spec_hash"`
		} `json:"task"`
		Workspace struct {
			BaseDigest string `json:"base_digest"`
			Commit     string `json:"commit"`
		} `json:"workspace"`
	} `json:"provenance"`
	Spec deed.TaskSpec `json:"spec"`
}

// rerunInput reads the verified bytes of a bundle. The returned function removes what was made for it.
func (a *app) rerunInput(ctx context.Context, dir string, rep bundle.Verification, f rerunFlags) (attempt.Rerun, func(), error) {
	var in attempt.Rerun
	var m metadata
	for path, to := range map[string]any{evidence.PathMetadata: &m, bundle.PathVerdict: &in.Verdict} {
		data, err := takeVerified(dir, rep, path)
		if err != nil {
			return in, nil, usage(fmt.Errorf("nothing can be run again: %w", err))
		}
		if err := json.Unmarshal(data, to); err != nil {
			return in, nil, usage(fmt.Errorf("nothing can be run again: %s: %w", path, err))
		}
	}
	in.Spec, in.Base, in.Commit = m.Spec, m.Provenance.Workspace.BaseDigest, m.Provenance.Workspace.Commit
	if err := a.rerunSource(ctx, m, &in, f.source); err != nil {
		return in, nil, err
	}
	in.Kind = sandbox.Kind(in.Spec.Isolation)
	if f.isolation != "" {
		in.Kind = sandbox.Kind(f.isolation)
	}
	if rep.Signature.Status != bundle.SignatureValid && in.Kind != sandbox.Namespace && in.Kind != sandbox.Container {
		if f.isolation != "" {
			return in, nil, usage(errors.New("no trusted key signed this bundle, and its commands are run in a sandbox only (leave --isolation out, or trust the key with deed key trust)"))
		}
		in.Kind = sandbox.Namespace
	}
	patch, err := takeVerified(dir, rep, evidence.PathPatch)
	if err != nil {
		return in, nil, usage(err)
	}
	tmp, release, err := atomicfile.TempDir(a.h.Tmp(), "rerun-patch-")
	if err != nil {
		return in, nil, err
	}
	drop := func() {
		_ = os.RemoveAll(tmp)
		release()
	}
	in.Patch = filepath.Join(tmp, "patch.diff")
	if err := os.WriteFile(in.Patch, patch, 0o600); err != nil {
		drop()
		return in, nil, err
	}
	return in, drop, nil
}

// rerunSource finds what the base was made from. A bundle names no place on a machine; the task in this home does, and it
// also has the whole of what was pinned.
func (a *app) rerunSource(ctx context.Context, m metadata, in *attempt.Rerun, source string) error {
	full, err := a.pinnedSpec(ctx, m)
	if err != nil {
		return err
	}
	if full != nil {
		in.Spec = *full
	} else if err := foreign(in.Spec); err != nil {
		return usage(fmt.Errorf("nothing can be run again: %w", err))
	}
	if source != "" {
		abs, err := a.workspace(source)
		if err != nil {
			return usage(errors.New(strings.ReplaceAll(err.Error(), "--workspace", "--source")))
		}
		if len(in.Spec.Workspaces) > 1 {
			return usage(errors.New("--source: the bundle has several workspaces, and they are rebuilt from the task's own sources only"))
		}
		w := deed.Workspace{}
		if in.Spec.Workspace != nil {
			w = *in.Spec.Workspace
		}
		w.Source = abs
		if err := w.Validate(); err != nil {
			return usage(fmt.Errorf("nothing can be run again: the workspace of the bundle: %w", err))
		}
		in.Spec.Workspace, in.Spec.Workspaces = &w, nil
		return nil
	}
	if full == nil {
		return usage(errors.New("the base of the bundle cannot be rebuilt: its task is not in this home (give --source a directory with the files that the agent began with)"))
	}
	return nil
}

// foreign refuses a spec that only the bundle vouches for, if deed would not have admitted it or if it names places on this machine:
// a mount could show the socket of a service, which leads out of the sandbox. deed writes no such places into a bundle.
func foreign(s deed.TaskSpec) error {
	for i, c := range s.Checks {
		if err := c.Validate(); err != nil {
			return fmt.Errorf("check %d of the bundle: %w", i, err)
		}
		if c.Files != "" || c.FilesDigest != "" {
			return fmt.Errorf("check %d of the bundle has files that only its own home has", i)
		}
	}
	if s.Sandbox != nil && len(s.Sandbox.Mounts) > 0 {
		return errors.New("its checks saw files of the machine that they ran on (sandbox.mounts)")
	}
	if s.Sandbox != nil {
		if err := s.Sandbox.Validate(); err != nil {
			return fmt.Errorf("the sandbox of the bundle: %w", err)
		}
	}
	if w := s.Workspace; w != nil && (w.Source != "" || w.Bundle != "") {
		return errors.New("its workspace names places on the machine that it was made on")
	}
	return nil
}

// pinnedSpec is the task's own spec, if this home has the task and its spec is still the pinned one.
func (a *app) pinnedSpec(ctx context.Context, m metadata) (*deed.TaskSpec, error) {
	id := m.Provenance.Task.AttemptID
	if id == "" {
		return nil, nil
	}
	at, err := a.st.Attempt(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	t, err := a.st.Task(ctx, at.Record.TaskID)
	if errors.Is(err, store.ErrNotFound) || err == nil && t.Intent.Deed == nil {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	hash, err := canonjson.Hash(t.Intent.Deed)
	if err != nil || hash != m.Provenance.Task.SpecHash {
		return nil, err
	}
	return t.Intent.Deed, nil
}

// maxTaken bounds a file of a bundle that is read whole.
const maxTaken = 256 << 20

// takeVerified reads a file of a bundle and makes sure that it still has the digest that was verified.
func takeVerified(dir string, rep bundle.Verification, name string) ([]byte, error) {
	want := ""
	for _, f := range rep.Manifest.Files {
		if f.Path == name && f.SHA256 != nil {
			want = f.SHA256.Value
		}
	}
	if want == "" {
		return nil, fmt.Errorf("the bundle has no %s", name)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	data, err := plainfile.ReadIn(root, name, maxTaken)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	if hex.EncodeToString(sum[:]) != want {
		return nil, fmt.Errorf("%s is not what was verified a moment ago", name)
	}
	return data, nil
}
