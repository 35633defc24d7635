package gc

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/deedrun/deed/internal/base/atomicfile"
	"github.com/deedrun/deed/internal/evidence/runrecord"
	"github.com/deedrun/deed/internal/evidence/workspace"
	"github.com/deedrun/deed/internal/isolate/sandbox"
)

// scratch removes what commands without a home left in the system's temporary directory when they were killed. Every user shares that
// directory, so it touches only what has one of deed's names, belongs to this user and has an owner that is known to be dead. Anything else
// is not even reported.
func (s *sweep) scratch(ctx context.Context) error {
	if s.Temp == "" {
		return nil
	}
	f, err := os.Open(s.Temp)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("sweep: %w", err)
	}
	defer func() { _ = f.Close() }()
	list, err := f.ReadDir(-1)
	if err != nil {
		return fmt.Errorf("sweep: %w", err)
	}
	for _, e := range list {
		kind := atomicfile.ScratchKind(e.Name())
		fi, err := e.Info()
		if kind == "" || err != nil || !fi.IsDir() {
			continue
		}
		if st, ok := fi.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Geteuid() {
			continue
		}
		release, orphaned := atomicfile.Orphaned(f, e.Name())
		if orphaned {
			s.orphan(ctx, f, e.Name(), kind)
		}
		release()
	}
	return nil
}

func (s *sweep) orphan(ctx context.Context, in *os.File, name, kind string) {
	found := Finding{Kind: KindTemp, Path: filepath.Join(s.Temp, name), Reason: "the process that made it is dead", Action: ActionRemove}
	if kind == sandbox.ScratchKind {
		used, err := sandbox.InUse(ctx, found.Path)
		if err != nil {
			s.faults = append(s.faults, err)
		}
		if used {
			found.Reason = "a container is on it, and goes when its attempt is settled"
			s.leave(found)
			return
		}
	}
	found.Bytes, _ = runrecord.Size(found.Path) // for the report only
	s.do(found, func() error { return workspace.RemoveAt(in, name) })
}
