package atomicfile_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/deedrun/deed/internal/base/atomicfile"
)

// A temporary file has an owner until it is released, also when it was closed meanwhile.
func TestTempHasAnOwner(t *testing.T) {
	t.Parallel()
	where := t.TempDir()
	dir, err := os.Open(where)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = dir.Close() }()
	f, release, err := atomicfile.Temp(filepath.Join(where, "f"))
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Base(f.Name())
	abandoned := func() bool {
		unlock, ok := atomicfile.Abandoned(dir, name)
		unlock()
		return ok
	}
	if abandoned() {
		t.Error("abandoned while it is open")
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if abandoned() {
		t.Error("abandoned before it got its name")
	}
	release()
	if !abandoned() {
		t.Error("not abandoned after its release")
	}
	if err := os.Remove(f.Name()); err != nil {
		t.Fatal(err)
	}
	if !abandoned() {
		t.Error("what is gone has an owner")
	}
}

// A temporary directory has an owner until it is released, whatever becomes of what is in it.
func TestTempDirHasAnOwner(t *testing.T) {
	t.Parallel()
	where := t.TempDir()
	dir, err := os.Open(where)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = dir.Close() }()
	name, release, err := atomicfile.TempDir(where, "work-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(name, "f"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if unlock, ok := atomicfile.Abandoned(dir, filepath.Base(name)); ok {
		unlock()
		t.Error("abandoned while it is used")
	}
	release()
	unlock, ok := atomicfile.Abandoned(dir, filepath.Base(name))
	defer unlock()
	if !ok {
		t.Error("not abandoned after its release")
	}
}
