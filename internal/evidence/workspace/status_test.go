package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

func statusLines(files []StatusFile) string {
	var b strings.Builder
	for _, f := range files {
		b.WriteString(string(f.Status) + " " + f.Path + "\n")
	}
	return b.String()
}

// trap plants everything in a work tree that would make a plain git run something, and returns the file that shows
// whether it did.
func trap(d dir) (ran string) {
	ran = d.path("../ran")
	run := "touch " + ran
	gitIn(d.t, d.root, "config", "core.hooksPath", d.path("hooks"))
	for _, k := range []string{"core.fsmonitor", "filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "diff.evil.textconv", "diff.evil.command", "merge.evil.driver", "core.sshCommand", "core.alternateRefsCommand", "gpg.program", "credential.helper", "core.pager", "core.editor", "uploadpack.packObjectsHook", "diff.external"} {
		gitIn(d.t, d.root, "config", k, run)
	}
	gitIn(d.t, d.root, "config", "filter.evil.required", "true")
	gitIn(d.t, d.root, "config", "commit.gpgSign", "true")
	gitIn(d.t, d.root, "config", "push.gpgSign", "true")
	gitIn(d.t, d.root, "config", "submodule.recurse", "true")
	gitIn(d.t, d.root, "config", "url."+d.path("../elsewhere")+".insteadOf", "/")
	gitIn(d.t, d.root, "config", "include.path", d.path("more-config"))
	d.write("more-config", "[core]\n\tfsmonitor = "+run+"\n")
	for _, h := range []string{"pre-push", "pre-commit", "post-index-change", "reference-transaction", "commit-msg", "pre-receive", "post-receive", "update"} {
		d.exec("hooks/"+h, "#!/bin/sh\n"+run+"\n")
		d.exec(".git/hooks/"+h, "#!/bin/sh\n"+run+"\n")
	}
	d.write(".gitattributes", "* filter=evil diff=evil merge=evil\n")
	d.write(".gitmodules", "[submodule \"x\"]\n\tpath = x\n\turl = ext::sh -c "+run+"\n")
	return ran
}

// cleanRepo is a repository of one commit.
func cleanRepo(t *testing.T) dir {
	t.Helper()
	d := newDir(t, filepath.Join(tempDir(t), "src"))
	gitIn(t, d.root, "init", "-q", "-b", "main")
	d.write(".gitignore", "*.log\n")
	d.write("a.txt", "1\n")
	d.write("gone.txt", "1\n")
	d.write("sub/b.txt", "1\n")
	gitIn(t, d.root, "add", "-A")
	gitIn(t, d.root, "commit", "-q", "-m", "first")
	return d
}

func TestStatusAndDiff(t *testing.T) {
	t.Parallel()
	d := cleanRepo(t)
	gitIn(t, d.root, "remote", "add", "origin", "https://user:token@example.com/x.git")
	d.write("a.txt", "2\n")
	d.rm("gone.txt")
	d.write("new\n\x1b[31m.txt", "n\n")
	d.write("x.log", "ignored\n")
	d.write(".ci/x", "ci\n")
	d.write("staged.txt", "s\n")
	gitIn(t, d.root, "add", "staged.txt")
	ran := trap(d)
	before := times(t, d.root)
	opt := StatusOptions{Exclude: []string{".ci/**", "hooks", "more-config", ".gitm*", ".gitattributes"}}
	st, err := StatusOf(t.Context(), d.root, opt)
	if err != nil {
		t.Fatal(err)
	}
	want := "modified a.txt\ndeleted gone.txt\nadded new\n\x1b[31m.txt\nadded staged.txt\n"
	if diff := cmp.Diff(want, statusLines(st.Files)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	head := strings.TrimSpace(gitIn(t, d.root, "rev-parse", "HEAD"))
	if st.Branch != "main" || st.Commit != head || st.Dirty != 4 || st.Remote != "https://example.com/x.git" {
		t.Errorf("%+v", st)
	}
	diff, err := DiffOf(t.Context(), d.root, "", "", opt)
	if err != nil {
		t.Fatal(err)
	}
	if delta := cmp.Diff(before, times(t, d.root)); delta != "" {
		t.Errorf("the directory was touched:\n%s", delta)
	}
	if _, err := os.Lstat(ran); err == nil {
		t.Error("something of the directory ran")
	}
	// A plain git applies it to the commit.
	root := newDir(t, tempDir(t))
	gitIn(t, root.root, "clone", "-q", "--no-hardlinks", "-c", "core.hooksPath=/dev/null", "file://"+d.root, "copy")
	root.write("p", string(diff))
	gitIn(t, root.path("copy"), "apply", root.path("p"))
	for _, p := range []string{"a.txt", "new\n\x1b[31m.txt", "staged.txt"} {
		if (dir{t, root.path("copy")}).read(p) != d.read(p) {
			t.Errorf("%q differs", p)
		}
	}
	for _, p := range []string{"gone.txt", ".ci/x", "x.log", "hooks"} {
		if _, err := os.Lstat(root.path("copy/" + p)); err == nil {
			t.Errorf("%s is there", p)
		}
	}

	one, err := DiffOf(t.Context(), d.root, "HEAD", "", StatusOptions{Paths: []string{"a.txt"}})
	if err != nil || strings.Count(string(one), "diff --git") != 1 || !strings.Contains(string(one), "+2\n") {
		t.Errorf("%v\n%s", err, one)
	}
	if none, err := DiffOf(t.Context(), d.root, "HEAD", "main", StatusOptions{}); err != nil || len(none) > 0 {
		t.Errorf("%v\n%s", err, none)
	}
	if _, err := DiffOf(t.Context(), d.root, "none", "", StatusOptions{}); !errors.Is(err, ErrSource) {
		t.Errorf("unknown ref: %v", err)
	}
	if _, err := DiffOf(t.Context(), d.root, "", "", StatusOptions{MaxBytes: 10}); !errors.Is(err, ErrPatchTooLarge) {
		t.Errorf("too large: %v", err)
	}
	for _, bad := range []StatusOptions{{Paths: []string{"../x"}}, {Exclude: []string{"/x"}}} {
		if _, err := StatusOf(t.Context(), d.root, bad); !errors.Is(err, ErrGlob) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

// A file that git would hang on or read for minutes is reported instead.
func TestStatusUnfit(t *testing.T) {
	t.Parallel()
	d := cleanRepo(t)
	d.rm("a.txt")
	d.fifo("a.txt")
	d.fifo("pipe")
	d.write("huge", "")
	d.do(os.Truncate(d.path("huge"), 10<<30))
	d.rm("gone.txt")
	d.write("gone.txt", "")
	d.do(os.Truncate(d.path("gone.txt"), 10<<30))
	gitIn(t, d.root, "init", "-q", "nested")
	d.write("nested/x", "1")
	d.write("sub/b.txt", "2\n")
	st, err := StatusOf(t.Context(), d.root, StatusOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := statusLines(st.Files); got != "modified sub/b.txt\n" {
		t.Errorf("files:\n%s", got)
	}
	var codes []string
	for _, n := range st.Notes {
		codes = append(codes, n.Code+" "+n.Path)
	}
	if diff := cmp.Diff([]string{"special_file a.txt", "too_large gone.txt", "too_large huge", "nested_repository nested", "special_file pipe"}, codes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	if diff, err := DiffOf(t.Context(), d.root, "", "", StatusOptions{}); err != nil || strings.Count(string(diff), "diff --git") != 1 {
		t.Errorf("%v\n%s", err, diff)
	}
	spec := commitSpec(d.root)
	if _, err := CommitTree(t.Context(), spec); !errors.Is(err, ErrSource) || !strings.Contains(err.Error(), "huge") || !strings.Contains(err.Error(), "pipe") {
		t.Errorf("commit: %v", err)
	}
	spec.Exclude = []string{"a.txt", "pipe", "huge", "gone.txt", "nested"}
	if c, err := CommitTree(t.Context(), spec); err != nil || len(c.Files) != 1 {
		t.Errorf("commit: %v %+v", err, c)
	}
}

// A .git that an agent turned into a way to someone else's repository.
func TestStatusForeignRepository(t *testing.T) {
	t.Parallel()
	secret := cleanRepo(t)
	for name, spoil := range map[string]func(d dir){
		"link":      func(d dir) { d.rm(".git"); d.link(secret.path(".git"), ".git") },
		"file":      func(d dir) { d.rm(".git"); d.write(".git", "gitdir: "+secret.path(".git")+"\n") },
		"objects":   func(d dir) { d.rm(".git/objects"); d.link(secret.path(".git/objects"), ".git/objects") },
		"refs":      func(d dir) { d.rm(".git/refs"); d.link(secret.path(".git/refs"), ".git/refs") },
		"commondir": func(d dir) { d.write(".git/commondir", secret.path(".git")) },
		"own gitdir": func(d dir) {
			d.do(os.Rename(d.path(".git"), d.path("fake")))
			d.write(".git", "gitdir: fake\n")
			d.write("fake/commondir", secret.path(".git"))
			d.write("fake/gitdir", d.path(".git"))
		},
		"gone":         func(d dir) { d.rm(".git") },
		"a FIFO":       func(d dir) { d.rm(".git"); d.fifo(".git") },
		"HEAD a link":  func(d dir) { d.rm(".git/HEAD"); d.link(secret.path(".git/HEAD"), ".git/HEAD") },
		"no directory": func(dir) {},
	} {
		d := cleanRepo(t)
		if spoil(d); name == "no directory" {
			d.root = d.path("none")
		}
		if st, err := StatusOf(t.Context(), d.root, StatusOptions{}); !errors.Is(err, ErrSource) {
			t.Errorf("%s: %v %+v", name, err, st)
		}
	}
	// A work tree that git linked is known to its repository.
	gitIn(t, secret.root, "worktree", "add", "-q", "-b", "wt", secret.path("../wt"))
	if st, err := StatusOf(t.Context(), secret.path("../wt"), StatusOptions{}); err != nil || st.Branch != "wt" || st.Dirty != 0 {
		t.Errorf("linked: %v %+v", err, st)
	}
}

func commitSpec(repo string) CommitSpec {
	return CommitSpec{
		Repo: repo, Branch: "deed/x", Dir: repo, Message: "subject\n\nbody\n",
		Author:   Signature{"A B", "a@example.com", time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600))},
		Trailers: []Trailer{{"Deed-Attempt", "a1"}, {"Deed-Task", "t1"}},
	}
}

func TestCommitTree(t *testing.T) {
	t.Parallel()
	d := cleanRepo(t)
	d.write("a.txt", "2\n")
	d.rm("gone.txt")
	d.exec("new/run", "#!/bin/sh\n")
	d.link("a.txt", "link")
	d.write("x.log", "ignored\n")
	ran := trap(d)
	index, conf := d.read(".git/index"), d.read(".git/config")
	head := strings.TrimSpace(gitIn(t, d.root, "rev-parse", "HEAD"))
	spec := commitSpec(d.root)
	spec.Exclude = []string{"hooks", ".gitattributes", ".gitmodules", "more-config"}
	c, err := CommitTree(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(ran); err == nil {
		t.Fatal("something of the repository ran")
	}
	if d.read(".git/index") != index || d.read(".git/config") != conf || d.read(".git/HEAD") != "ref: refs/heads/main\n" {
		t.Error("index, configuration or HEAD was touched")
	}
	show := func(args ...string) string {
		return gitIn(t, d.root, append([]string{"-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "diff.external=", "-c", "core.pager=cat"}, args...)...)
	}
	if got := show("log", "-1", "--format=%P|%an <%ae>|%cn|%aI|%B", "deed/x"); got != head+"|A B <a@example.com>|A B|2026-01-02T03:04:05+01:00|subject\n\nbody\n\nDeed-Attempt: a1\nDeed-Task: t1\n\n" {
		t.Errorf("commit:\n%s", got)
	}
	if got := show("diff-tree", "-r", "--raw", "--no-abbrev", "--no-commit-id", "--name-status", "main", "deed/x"); got != "M\ta.txt\nD\tgone.txt\nA\tlink\nA\tnew/run\n" {
		t.Errorf("files:\n%s", got)
	}
	if c.Parent != head || c.ID != strings.TrimSpace(show("rev-parse", "deed/x")) || len(c.Files) != 4 {
		t.Errorf("%+v", c)
	}
	show("fsck", "--strict")
	if _, err := CommitTree(t.Context(), spec); !errors.Is(err, ErrBranchExists) {
		t.Errorf("again: %v", err)
	}
	same := spec
	same.Branch, same.Parent = "deed/y", "deed/x"
	if _, err := CommitTree(t.Context(), same); !errors.Is(err, ErrNothingToCommit) {
		t.Errorf("the same: %v", err)
	}
	under := spec
	under.Branch = "deed/x/y" // a branch cannot be a directory of branches
	if _, err := CommitTree(t.Context(), under); err == nil {
		t.Error("a branch below a branch was made")
	}

	// Base and patch, in a bare repository.
	root := newDir(t, tempDir(t))
	gitIn(t, root.root, "clone", "-q", "--bare", "file://"+d.root, "bare")
	root.write("p", "diff --git a/a.txt b/a.txt\nold mode 100644\nnew mode 100755\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-1\n+three\n")
	spec = commitSpec(root.path("bare"))
	spec.Dir, spec.Patch = "", root.path("p")
	spec.Branch, spec.Parent = "other", "main"
	if _, err := CommitTree(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	if got := gitIn(t, root.path("bare"), "ls-tree", "other", "a.txt") + gitIn(t, root.path("bare"), "show", "other:a.txt"); !strings.HasPrefix(got, "100755") || !strings.HasSuffix(got, "\nthree\n") {
		t.Errorf("a.txt: %s", got)
	}
	root.write("p", "nonsense")
	spec.Branch = "third"
	if _, err := CommitTree(t.Context(), spec); !errors.Is(err, ErrApply) {
		t.Errorf("bad patch: %v", err)
	}
	for name, edit := range map[string]func(s *CommitSpec){
		"branch":       func(s *CommitSpec) { s.Branch = "a..b" },
		"dash":         func(s *CommitSpec) { s.Branch = "-x" },
		"message":      func(s *CommitSpec) { s.Message = " \n" },
		"author":       func(s *CommitSpec) { s.Author.Name = "x\n> evil" },
		"trailer":      func(s *CommitSpec) { s.Trailers = []Trailer{{"A", "x\nB: y"}} },
		"both":         func(s *CommitSpec) { s.Patch = "/p" },
		"neither":      func(s *CommitSpec) { s.Dir = "" },
		"parent":       func(s *CommitSpec) { s.Parent = "none" },
		"no directory": func(s *CommitSpec) { s.Repo = d.path("none") },
	} {
		bad := commitSpec(d.root)
		bad.Branch = "bad"
		edit(&bad)
		if _, err := CommitTree(t.Context(), bad); !errors.Is(err, ErrSource) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := show("for-each-ref", "--format=%(refname)"); got != "refs/heads/deed/x\nrefs/heads/main\n" {
		t.Errorf("refs:\n%s", got)
	}
}

func TestPush(t *testing.T) {
	t.Parallel()
	d := cleanRepo(t)
	head := strings.TrimSpace(gitIn(t, d.root, "rev-parse", "HEAD"))
	root := newDir(t, tempDir(t))
	gitIn(t, root.root, "init", "-q", "--bare", "remote.git")
	remote := dir{t, root.path("remote.git")}
	ran := trap(d)
	for _, h := range []string{"pre-receive", "update", "post-receive", "post-update", "reference-transaction"} {
		remote.exec("hooks/"+h, "#!/bin/sh\ntouch "+ran+"\nexit 1\n")
		remote.exec("other/"+h, "#!/bin/sh\ntouch "+ran+"\nexit 1\n")
	}
	gitIn(t, remote.root, "config", "core.hooksPath", remote.path("other"))
	gitIn(t, remote.root, "config", "core.alternateRefsCommand", "touch "+ran)
	for _, to := range []string{remote.root, "file://" + remote.root} {
		p, err := Push(t.Context(), d.root, to, "main:deed/"+map[bool]string{true: "url", false: "path"}[strings.HasPrefix(to, "file")], PushOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if p.ID != head {
			t.Errorf("%+v", p)
		}
	}
	if _, err := os.Lstat(ran); err == nil {
		t.Error("something ran")
	}
	if got := gitIn(t, remote.root, "for-each-ref", "--format=%(refname) %(objectname)"); got != "refs/heads/deed/path "+head+"\nrefs/heads/deed/url "+head+"\n" {
		t.Errorf("refs:\n%s", got)
	}
	gitIn(t, remote.root, "fsck")
	// Commits are not lost unless that is asked for.
	gitIn(t, remote.root, "-c", "core.hooksPath=/dev/null", "update-ref", "refs/heads/main", strings.TrimSpace(gitIn(t, remote.root, "commit-tree", "-m", "theirs", head+"^{tree}")))
	if _, err := Push(t.Context(), d.root, remote.root, "main", PushOptions{}); !errors.Is(err, ErrPush) {
		t.Errorf("not a fast-forward: %v", err)
	}
	if _, err := Push(t.Context(), d.root, remote.root, "refs/heads/main", PushOptions{Force: true}); err != nil {
		t.Errorf("forced: %v", err)
	}
	for name, tt := range map[string][2]string{
		"ext":        {"ext::sh -c touch% " + ran, "main"},
		"http":       {"http://127.0.0.1:1/x", "main"},
		"git":        {"git://127.0.0.1:1/x", "main"},
		"option":     {"--upload-pack=touch " + ran, "main"},
		"absent":     {root.path("none"), "main"},
		"file":       {d.path("a.txt"), "main"},
		"ref":        {remote.root, "none"},
		"delete":     {remote.root, ":main"},
		"plus":       {remote.root, "+main:main"},
		"tag":        {remote.root, "main:refs/tags/x"},
		"bad branch": {remote.root, "main:a..b"},
	} {
		if _, err := Push(t.Context(), d.root, tt[0], tt[1], PushOptions{}); !errors.Is(err, ErrSource) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := os.Lstat(ran); err == nil {
		t.Error("something ran")
	}
	// A remote that never answers: opening its HEAD waits for a writer.
	gitIn(t, root.root, "init", "-q", "--bare", "slow.git")
	slow := dir{t, root.path("slow.git")}
	slow.rm("config")
	slow.do(unix.Mkfifo(slow.path("config"), 0o600))
	if _, err := Push(t.Context(), d.root, slow.root, "main", PushOptions{Timeout: 300 * time.Millisecond}); !errors.Is(err, ErrPush) {
		t.Errorf("timeout: %v", err)
	}
}
