package task

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
)

func TestFilesOfHiddenChecksArePinned(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "accept.sh"), []byte("true\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a := admission(t, settings)
	prepare := func(c deed.Check) (deed.Check, error) {
		row, err := a.Prepare(intent(func(in *agentruntime.TaskIntent) { in.Deed = &deed.TaskSpec{Checks: []deed.Check{c}} }), Caller{Trusted: true})
		if err != nil {
			return c, err
		}
		return row.Intent.Deed.Checks[0], nil
	}
	c, err := prepare(deed.Check{Shell: "sh accept.sh", Hidden: true, Files: dir})
	if err != nil || len(c.FilesDigest) != 64 {
		t.Fatalf("%q, %v", c.FilesDigest, err)
	}
	if again, err := prepare(c); err != nil || again.FilesDigest != c.FilesDigest {
		t.Errorf("%q, %v", again.FilesDigest, err)
	}
	for _, bad := range []struct {
		check deed.Check
		want  string
	}{
		{deed.Check{Shell: "x", Hidden: true, Files: dir, FilesDigest: strings.Repeat("0", 64)}, "is not that of the files"},
		{deed.Check{Shell: "x", Hidden: true, Files: filepath.Join(dir, "none")}, "$.deed.checks[0].files"},
		{deed.Check{Shell: "x", Hidden: true, Files: t.TempDir()}, "is empty"},
		{deed.Check{Shell: "x", FilesDigest: strings.Repeat("0", 64)}, "files is not"},
	} {
		if _, err := prepare(bad.check); err == nil || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("%+v: %v", bad.check, err)
		}
	}
}
