package runnerworkspace

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/deedrun/deed/contract/codebox"
	"github.com/deedrun/deed/contract/evidence"
)

// withSubmodule is a repository with a submodule of two commits at lib.
func withSubmodule(t *testing.T) (dir, first, second string) {
	t.Helper()
	dir, sub := repository(t), repository(t)
	first = git(t, sub, "rev-parse", "HEAD")
	write(t, sub, "a.txt", "two\n")
	git(t, sub, "commit", "-qam", "second")
	git(t, dir, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", sub, "lib")
	git(t, dir, "commit", "-qm", "with a submodule")
	return dir, first, git(t, sub, "rev-parse", "HEAD")
}

func messages(list []evidence.Diagnostic) string {
	var b strings.Builder
	for _, d := range list {
		b.WriteString(d.Class + " " + d.Message + "\n")
	}
	return b.String()
}

func TestCaptureTellsSubmodules(t *testing.T) {
	t.Parallel()
	dir, first, second := withSubmodule(t)
	res := runner().Capture(t.Context(), codebox.CaptureRequest{WorkspacePath: dir})
	check(t, codebox.SchemaCaptureResult, res)
	if !res.Success || res.Changed || messages(res.Diagnostics) != "deed.workspace.submodule lib: the submodule is at its commit, and is not looked into: changes of its files are not seen\n" {
		t.Errorf("one that is as it was: %+v", res)
	}
	git(t, filepath.Join(dir, "lib"), "checkout", "-q", first)
	res = runner().Capture(t.Context(), codebox.CaptureRequest{WorkspacePath: dir})
	check(t, codebox.SchemaCaptureResult, res)
	st, ok := res.Status.(codebox.CaptureStatus)
	if !ok || !res.Changed || st.Dirty != 1 || st.Files[0] != (codebox.CaptureFile{Path: "lib", Status: "modified"}) {
		t.Errorf("one at another commit: %+v", res)
	}
	if want := "deed.workspace.submodule lib: the submodule is at " + first + ", and not at " + second + ": it is not looked into\n"; messages(res.Diagnostics) != want {
		t.Errorf("the diagnostics are %q", messages(res.Diagnostics))
	}
	if res = runner().Capture(t.Context(), codebox.CaptureRequest{WorkspacePath: dir, ExcludePaths: []string{"lib"}}); res.Changed || len(res.Diagnostics) > 0 {
		t.Errorf("one that is excluded: %+v", res)
	}
}

func TestPublishKeepsSubmodules(t *testing.T) {
	t.Parallel()
	dir, first, second := withSubmodule(t)
	publish := func(head string, paths ...string) codebox.PublicationResult {
		req := publication(dir)
		req.Head, req.Paths = head, paths
		res := runner().Publish(t.Context(), req)
		check(t, codebox.SchemaPublicationResult, res)
		return res
	}
	git(t, filepath.Join(dir, "lib"), "checkout", "-q", first)
	if res := publish("empty"); res.Status != codebox.WorkspaceFailed || !strings.Contains(res.Error.Message, "but for submodules, which stay as they are in the base: lib") {
		t.Errorf("nothing but the submodule: %+v, %+v", res, res.Error)
	}
	write(t, dir, "a.txt", "two\n")
	for head, paths := range map[string][]string{"all": nil, "named": {"a.txt"}} {
		res := publish(head, paths...)
		if res.FailureType != codebox.FailurePublicationUnavailable || res.Commit == nil {
			t.Fatalf("%s: %+v, %+v", head, res, res.Error)
		}
		if reported := strings.Contains(messages(res.Diagnostics), first+", and not at "+second); reported != (paths == nil) {
			t.Errorf("%s: the diagnostics are %q", head, messages(res.Diagnostics))
		}
		if got := git(t, dir, "diff-tree", "-r", "--name-only", "main", head); got != "a.txt" {
			t.Errorf("%s: it changes %q", head, got)
		}
	}
	for path, says := range map[string]string{"lib": "it stays as it is in the base", "lib/a.txt": "it lies in the submodule lib"} {
		res := publish("refused", "a.txt", path)
		if res.Status != codebox.WorkspaceFailed || res.FailureType != codebox.FailureBackendFailed || !strings.Contains(res.Error.Message, says) {
			t.Errorf("%s: %+v, %+v", path, res, res.Error)
		}
	}
	if got := git(t, dir, "branch", "--list", "refused", "empty"); got != "" {
		t.Errorf("branches: %q", got)
	}
}
