package agenttask

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/deedrun/deed/internal/base/atomicfile"
	"github.com/deedrun/deed/internal/evidence/bundle"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

// copyBundle copies a bundle to a place that must be free. The copy is made durable next to that place, then renamed: the place holds
// a whole bundle or nothing. What a killed process leaves there, bundle.RemoveStaleOf removes.
func copyBundle(ctx context.Context, from, to string) error {
	if err := free(to); err != nil {
		return err
	}
	tmp, release, err := bundle.Temp(to)
	if err != nil {
		return err
	}
	workspace.SetTopdirFlag(tmp)
	staged := filepath.Join(tmp, "bundle")
	_, err = workspace.Clone(ctx, from, staged)
	if err == nil {
		err = atomicfile.SyncTree(ctx, staged)
	}
	if err == nil {
		err = free(to) // someone may have taken it in the meantime
	}
	if err == nil {
		_ = os.Remove(to) // an empty directory, or nothing
		err = atomicfile.RenameDir(staged, to)
	}
	return errors.Join(err, workspace.Remove(tmp), release())
}
