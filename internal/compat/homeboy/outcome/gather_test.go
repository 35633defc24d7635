package outcome

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/isolate/redact"
)

// A site is where a provider worked.
type site struct {
	t *testing.T
	Places
	into, elsewhere string
}

func newSite(t *testing.T) site {
	t.Helper()
	dir := t.TempDir()
	s := site{t: t, into: filepath.Join(dir, "kept"), elsewhere: filepath.Join(dir, "elsewhere")}
	s.Workspace, s.Artifacts = filepath.Join(dir, "work"), filepath.Join(dir, "artifacts")
	s.Cwd = s.Workspace
	for _, d := range []string{s.Workspace, s.Artifacts, s.elsewhere} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// put writes a file.
func (s site) put(path, text string) string {
	s.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return path
}

func (s site) link(to, path string) {
	s.t.Helper()
	if err := os.Symlink(to, path); err != nil {
		s.t.Fatal(err)
	}
}

// gather reads a success with artifacts and gathers them.
func (s site) gather(q homeboy.Request, artifacts string) Answer {
	s.t.Helper()
	return s.gatherAll(provider, q, printed(`{"schema":"homeboy/agent-task-outcome/v1","task_id":"t1","status":"succeeded","artifacts":[`+artifacts+`]}`, 0), nil)
}

func (s site) gatherAll(p homeboy.ExecutorProvider, q homeboy.Request, f Facts, r *redact.Redactor) Answer {
	s.t.Helper()
	a := Read(p, q, f, r)
	if err := a.Gather(s.t.Context(), p, q, s.Places, s.into); err != nil {
		s.t.Fatal(err)
	}
	if err := a.Outcome.Validate(); err != nil {
		s.t.Errorf("what was gathered cannot be written: %v", err)
	}
	s.whole()
	return a
}

// whole demands that every blob is what its name says, and that nothing else is left.
func (s site) whole() {
	s.t.Helper()
	for _, name := range s.blobs() {
		data, err := os.ReadFile(filepath.Join(s.into, "blobs", name))
		if err != nil || digestOf(string(data)) != name {
			s.t.Errorf("blob %s is %q, %v", name, data, err)
		}
	}
}

func (s site) blobs() []string {
	s.t.Helper()
	entries, err := os.ReadDir(filepath.Join(s.into, "blobs"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		s.t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// codes lists the member code of every diagnostic about an artifact.
func codes(o homeboy.Outcome) []string {
	var all []string
	for _, d := range o.Diagnostics {
		if d.Class == CodeArtifact || d.Class == CodeExternal || d.Class == CodeDeclared {
			v, _ := at(d.Data, "code")
			text, _ := v.Text()
			all = append(all, text)
		}
	}
	return all
}

func TestArtifactsAreKeptByContent(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.put(filepath.Join(s.Workspace, "sub/a.txt"), "hello")
	abs := s.put(filepath.Join(s.Artifacts, "b.txt"), "hello")
	s.put(filepath.Join(s.Workspace, "empty"), "")
	q := request
	a := s.gather(q, fmt.Sprintf(`{"id":"a","kind":"log","path":"sub/../sub/a.txt","size_bytes":5,"sha256":%q},{"id":"b","kind":"log","path":%q},{"id":"a","kind":"log","path":"./sub/a.txt"},
		{"id":"e","kind":"patch","path":"empty"},{"id":"u","kind":"page","url":"https://example.org/x","sha256":%q},{"id":"n","kind":"thing"}`, digestOf("hello"), abs, digestOf("x")))
	// edge case 81: the same bytes are kept once; the same id with them is there once.
	if diff := cmp.Diff([]string{digestOf("hello"), digestOf("")}, s.blobs()); diff != "" {
		t.Error(diff)
	}
	var got []string
	for _, a := range a.Outcome.Artifacts {
		size := int64(-1)
		if a.SizeBytes != nil {
			size = *a.SizeBytes
		}
		got = append(got, fmt.Sprintf("%s %s %.13s %.4s %d %v %v", a.ID, a.Kind, a.Path, a.SHA256, size, verified(a), reviewOnly(a)))
	}
	want := []string{
		"a log blobs/" + digestOf("hello")[:7] + " " + digestOf("hello")[:4] + " 5 true false",
		"b log blobs/" + digestOf("hello")[:7] + " " + digestOf("hello")[:4] + " 5 true false",
		"e patch blobs/" + digestOf("")[:7] + " " + digestOf("")[:4] + " 0 true false",
		"u page  " + digestOf("x")[:4] + " -1 false true",
		"n thing   -1 false true",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if a.Outcome.Status != homeboy.Succeeded || codes(a.Outcome) != nil {
		t.Errorf("%s %v", a.Outcome.Status, codes(a.Outcome))
	}
	if got := member(t, a.Outcome.Artifacts[1].Metadata, "artifact_provenance.place"); got != "artifacts" {
		t.Errorf("place %q", got)
	}
}

// TestArtifactsThatAreNotTaken: edge cases 80, 82, 83 and 86. None of them waits, and none fails the outcome.
func TestArtifactsThatAreNotTaken(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		make func(s site) string // returns the path
		more string
		code string
		kept bool
	}{
		"80 link at the end":        {make: func(s site) string { s.put(s.Workspace+"/f", "x"); s.link("f", s.Workspace+"/l"); return "l" }, code: faultUnsafe},
		"80 link out":               {make: func(s site) string { s.link("/etc/passwd", s.Workspace+"/l"); return "l" }, code: faultUnsafe},
		"80 link on the way":        {make: func(s site) string { s.put(s.elsewhere+"/f", "x"); s.link(s.elsewhere, s.Workspace+"/d"); return "d/f" }, code: faultUnsafe},
		"80 link that stays inside": {make: func(s site) string { s.put(s.Workspace+"/e/f", "x"); s.link("e", s.Workspace+"/d"); return "d/f" }, code: faultUnsafe},
		"80 the place is a link": {make: func(s site) string {
			_ = os.Remove(s.Artifacts)
			s.put(s.elsewhere+"/f", "x")
			s.link(s.elsewhere, s.Artifacts)
			return s.Artifacts + "/f"
		}, code: faultUnsafe},
		"82 outside":               {make: func(s site) string { return s.put(s.elsewhere+"/f", "x") }, code: faultOutside},
		"82 the system":            {make: func(site) string { return "/etc/passwd" }, code: faultOutside},
		"82 a name like the place": {make: func(s site) string { return s.put(s.Workspace+"-not/f", "x") }, code: faultOutside},
		"82 absolute with dots":    {make: func(s site) string { s.put(s.elsewhere+"/f", "x"); return s.Workspace + "/../elsewhere/f" }, code: faultOutside},
		"83 dots":                  {make: func(s site) string { s.put(s.elsewhere+"/f", "x"); return "../elsewhere/f" }, code: faultUnsafe},
		"83 dots in the middle":    {make: func(s site) string { s.put(s.elsewhere+"/f", "x"); return "a/../../elsewhere/f" }, code: faultUnsafe},
		"83 wrong digest":          {make: func(s site) string { s.put(s.Workspace+"/f", "x"); return "f" }, more: `,"sha256":"` + digestOf("y") + `"`, code: faultDigest, kept: true},
		"83 wrong size":            {make: func(s site) string { s.put(s.Workspace+"/f", "x"); return "f" }, more: `,"size_bytes":7`, code: faultSize, kept: true},
		"86 FIFO":                  {make: func(s site) string { must(s.t, syscall.Mkfifo(s.Workspace+"/f", 0o600)); return "f" }, code: faultKind},
		"86 device":                {make: func(s site) string { s.link("/dev/zero", s.Workspace+"/f"); return "f" }, code: faultUnsafe},
		"86 a real device": {make: func(s site) string {
			if err := syscall.Mknod(s.Workspace+"/f", syscall.S_IFCHR|0o600, 1<<8|5); err != nil { // /dev/zero
				s.t.Skipf("missing tool: mknod: run the tests as root: %v", err)
			}
			return "f"
		}, code: faultKind},
		"86 directory":     {make: func(s site) string { must(s.t, os.Mkdir(s.Workspace+"/f", 0o700)); return "f" }, code: faultKind},
		"86 the workspace": {make: func(site) string { return "." }, code: faultKind},
		"missing":          {make: func(site) string { return "f" }, code: faultMissing},
		"below a file":     {make: func(s site) string { s.put(s.Workspace+"/f", "x"); return "f/g" }, code: faultUnsafe},
		"too large": {make: func(s site) string {
			s.put(s.Workspace+"/f", "")
			must(s.t, os.Truncate(s.Workspace+"/f", MaxArtifact+1))
			return "f"
		}, code: faultTooLarge},
		"of a place that is not here": {make: func(s site) string { must(s.t, os.Remove(s.Artifacts)); return s.Artifacts + "/f" }, code: faultMissing},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			path := tc.make(s)
			a := s.gather(request, fmt.Sprintf(`{"id":"p","kind":"patch","path":%q%s}`, path, tc.more))
			o := a.Outcome
			if diff := cmp.Diff([]string{tc.code}, codes(o)); diff != "" {
				t.Error(diff)
			}
			if o.Status != homeboy.Succeeded || o.Decide() == homeboy.DecideApply || len(o.Artifacts) != 1 || !reviewOnly(o.Artifacts[0]) {
				t.Errorf("%s %s %+v", o.Status, o.Decide(), o.Artifacts)
			}
			if kept := len(s.blobs()) > 0; kept != tc.kept {
				t.Errorf("kept %v", s.blobs())
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestOneIDForDifferentBytes: edge case 81.
func TestOneIDForDifferentBytes(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.put(s.Workspace+"/a", "a")
	s.put(s.Workspace+"/b", "b")
	o := s.gather(request, `{"id":"p","kind":"patch","path":"a"},{"id":"p","kind":"patch","path":"b"},{"id":"q","kind":"patch","path":"a"}`).Outcome
	if diff := cmp.Diff([]string{faultCollision, faultCollision}, codes(o)); diff != "" {
		t.Error(diff)
	}
	if !reviewOnly(o.Artifacts[0]) || !reviewOnly(o.Artifacts[1]) || reviewOnly(o.Artifacts[2]) || o.Status != homeboy.Succeeded {
		t.Errorf("%+v", o)
	}
}

// TestAFileThatChangesWhileItIsRead: edge case 86.
func TestAFileThatChangesWhileItIsRead(t *testing.T) {
	t.Parallel()
	for _, size := range []int64{3, 9} {
		v := vault{dir: t.TempDir()}
		f, err := os.Open(newSite(t).put(filepath.Join(t.TempDir(), "f"), "hello"))
		must(t, err)
		defer f.Close()
		_, err = v.take(t.Context(), f, size) // what it had when it was looked at
		var r *refusal
		if !errors.As(err, &r) || r.code != faultChanged {
			t.Errorf("%d: %v", size, err)
		}
	}
}

// TestSecretsInArtifacts: edge case 43.
func TestSecretsInArtifacts(t *testing.T) {
	t.Parallel()
	const secret = "s3cr3t-value-of-mine"
	s := newSite(t)
	s.put(s.Workspace+"/log", strings.Repeat("x", 100_000)+secret+"\nafter")
	s.put(s.Workspace+"/dir-"+secret+"/p", "+"+secret)
	r := redact.New(map[string]string{"KEY": secret})
	text := `{"task_id":"t1","status":"succeeded","artifacts":[{"id":"l","kind":"log","path":"log"},{"id":"p","kind":"patch","path":"dir-` + secret + `/p","sha256":"` + digestOf("+"+secret) + `"}]}`
	a := s.gatherAll(provider, request, printed(text, 0), r)
	for _, name := range s.blobs() {
		data, err := os.ReadFile(filepath.Join(s.into, "blobs", name))
		if err != nil || r.Contains(data) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if text := string(value(a.Outcome)); strings.Contains(text, secret) {
		t.Error(text)
	}
	o := a.Outcome
	if len(s.blobs()) != 2 || reviewOnly(o.Artifacts[0]) || !reviewOnly(o.Artifacts[1]) || member(t, o.Artifacts[0].Metadata, "artifact_provenance.redacted") != "1" {
		t.Errorf("%+v", o.Artifacts)
	}
	if diff := cmp.Diff([]string{faultRedacted}, codes(o)); diff != "" {
		t.Error(diff)
	}
}

// TestSecretsInNamesOfFiles: edge case 43, in what is reported about artifacts.
func TestSecretsInNamesOfFiles(t *testing.T) {
	t.Parallel()
	const secret = "s3cr3t-value-of-mine"
	s := newSite(t)
	s.link(s.elsewhere, s.Workspace+"/"+secret)
	s.put(s.Workspace+"/out/"+secret+".txt", "x")
	q := require(homeboy.ArtifactDeclaration{Name: "out", Path: "out"})
	a := s.gatherAll(provider, q, printed(`{"task_id":"t1","status":"succeeded","artifacts":[{"id":"l","kind":"log","path":"`+secret+`/f"}]}`, 0), redact.New(map[string]string{"KEY": secret}))
	if text := string(value(a.Outcome)); strings.Contains(text, secret) || !strings.Contains(text, "[REDACTED:KEY].txt") {
		t.Error(text)
	}
	if diff := cmp.Diff([]string{faultUnsafe}, codes(a.Outcome)); diff != "" {
		t.Error(diff)
	}
}

// TestPathsAsTheProviderSeesThem maps paths of a sandbox.
func TestPathsAsTheProviderSeesThem(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.put(s.Workspace+"/f", "x")
	s.Host = func(inside string) (string, bool) {
		rest, ok := strings.CutPrefix(inside, "/room/")
		return filepath.Join(s.Workspace, rest), ok
	}
	o := s.gather(request, `{"id":"a","kind":"log","path":"/room/f"},{"id":"b","kind":"log","path":"/room/../etc/passwd"},{"id":"c","kind":"log","path":"`+s.Workspace+`/f"}`).Outcome
	if !verified(o.Artifacts[0]) || verified(o.Artifacts[1]) || verified(o.Artifacts[2]) {
		t.Errorf("%+v", o.Artifacts)
	}
	if diff := cmp.Diff([]string{faultOutside, faultOutside}, codes(o)); diff != "" {
		t.Error(diff)
	}
}

func require(declarations ...homeboy.ArtifactDeclaration) homeboy.Request {
	q := request
	q.ArtifactDeclarations = declarations
	return q
}

// TestRequiredArtifacts: edge case 74.
func TestRequiredArtifacts(t *testing.T) {
	t.Parallel()
	report := homeboy.ArtifactDeclaration{Name: "report", Required: true}
	typed := homeboy.ArtifactDeclaration{Name: "report", Type: "md", ArtifactSchema: "s/1", Required: true}
	for name, tc := range map[string]struct {
		d       homeboy.ArtifactDeclaration
		members string
		code    string
		pointer string
	}{
		"missing":                 {report, ``, faultMissing, ""},
		"by its name":             {report, `"artifacts":[{"id":"x","kind":"file","name":"report","path":"full"}]`, "", ""},
		"by its kind":             {report, `"artifacts":[{"id":"x","kind":"report","path":"full"}]`, "", ""},
		"by an address":           {report, `"artifacts":[{"id":"x","kind":"report","url":"https://example.org"}]`, "", ""},
		"empty":                   {report, `"artifacts":[{"id":"x","kind":"report","path":"empty"}]`, faultEmpty, "/artifacts/0"},
		"named and not there":     {report, `"artifacts":[{"id":"x","kind":"report","path":"gone"}]`, faultRead, "/artifacts/0"},
		"not as it says":          {report, `"artifacts":[{"id":"x","kind":"report","path":"full","size_bytes":1}]`, faultRead, "/artifacts/0"},
		"typed":                   {typed, `"typed_artifacts":[{"name":"report","type":"md","artifact_schema":"s/1","payload":"x"}]`, "", ""},
		"typed without a type":    {typed, `"typed_artifacts":[{"name":"report","payload":"x"}]`, "", ""},
		"typed and empty":         {typed, `"typed_artifacts":[{"name":"report","payload":{}}]`, faultEmpty, "/typed_artifacts/0/payload"},
		"of another type":         {typed, `"typed_artifacts":[{"name":"report","type":"html","payload":"x"}]`, faultType, "/typed_artifacts/0/type"},
		"of another schema":       {typed, `"typed_artifacts":[{"name":"report","artifact_schema":"s/2","payload":"x"}]`, faultType, "/typed_artifacts/0/artifact_schema"},
		"typed, points at a file": {typed, `"artifacts":[{"id":"x","kind":"file","path":"full"}],"typed_artifacts":[{"name":"report","artifact":{"id":"x"}}]`, "", ""},
		"typed, points nowhere":   {typed, `"typed_artifacts":[{"name":"report","artifact":{"id":"x"}}]`, faultEmpty, "/typed_artifacts/0/payload"},
		"a patch may be missing":  {homeboy.ArtifactDeclaration{Name: "patch", Required: true}, ``, "", ""},
		"a patch may be empty":    {homeboy.ArtifactDeclaration{Name: "patch", Required: true}, `"artifacts":[{"id":"p","kind":"patch","path":"empty"}]`, "", ""},
		"by its path":             {homeboy.ArtifactDeclaration{Name: "report", Path: "full", Required: true}, ``, "", ""},
		"by a path that is empty": {homeboy.ArtifactDeclaration{Name: "report", Path: "empty", Required: true}, ``, faultEmpty, "/artifacts/0"},
		"by a path to nothing":    {homeboy.ArtifactDeclaration{Name: "report", Path: "gone", Required: true}, ``, faultMissing, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.put(s.Workspace+"/full", "text")
			s.put(s.Workspace+"/empty", "")
			doc := `{"task_id":"t1","status":"succeeded","schema":"homeboy/agent-task-outcome/v1"`
			if tc.members != "" {
				doc += "," + tc.members
			}
			o := s.gatherAll(provider, require(tc.d), printed(doc+"}", 0), nil).Outcome
			want := homeboy.Succeeded
			if tc.code != "" {
				want = homeboy.Failed
			}
			if o.Status != want {
				t.Fatalf("%s, want %s: %+v", o.Status, want, o.Diagnostics)
			}
			if tc.code == "" {
				return
			}
			d := diagnostic(o, CodeDeclared)
			if d == nil || member(t, d.Data, "code") != tc.code || member(t, d.Data, "pointer") != tc.pointer || o.FailureClassification != homeboy.ClassExecutionFailed || member(t, o.Metadata, "provider_status") != "succeeded" {
				t.Errorf("%+v %s", o.Diagnostics, o.Metadata)
			}
			optional := tc.d
			optional.Required = false
			if o := s.gatherAll(provider, require(optional), printed(doc+"}", 0), nil).Outcome; o.Status != homeboy.Succeeded {
				t.Errorf("%s although nothing is required", o.Status)
			}
		})
	}
	s := newSite(t)
	q := request
	q.ExpectedArtifacts = []string{"report"}
	if o := s.gather(q, "").Outcome; o.Status != homeboy.Failed {
		t.Errorf("an expected artifact is required: %s", o.Status)
	}
}

// TestDeclaredTrees: edge case 84.
func TestDeclaredTrees(t *testing.T) {
	t.Parallel()
	tree := func(t *testing.T, build func(s site)) (homeboy.Outcome, site) {
		t.Helper()
		s := newSite(t)
		s.put(s.Workspace+"/out/a.txt", "a")
		s.put(s.Workspace+"/out/sub/b.txt", "b")
		build(s)
		return s.gather(require(homeboy.ArtifactDeclaration{Name: "site", Type: "tree", Path: "out", Required: true}), "").Outcome, s
	}
	sum := func(o homeboy.Outcome) string {
		return member(t, o.Artifacts[0].Metadata, "artifact_provenance.tree_sha256")
	}
	plain, s := tree(t, func(site) {})
	if plain.Status != homeboy.Succeeded || len(s.blobs()) != 2 || *plain.Artifacts[0].SizeBytes != 2 || plain.Artifacts[0].Kind != "tree" {
		t.Fatalf("%+v", plain)
	}
	s.put(s.Workspace+"/out/a.txt", "later") // what was kept stays as it is
	s.whole()
	again, _ := tree(t, func(site) {})
	empty, _ := tree(t, func(s site) { must(t, os.Mkdir(s.Workspace+"/out/none", 0o700)) })
	if sum(plain) == "" || sum(plain) != sum(again) || sum(plain) == sum(empty) {
		t.Errorf("%s %s %s", sum(plain), sum(again), sum(empty))
	}
	for name, tc := range map[string]struct {
		build func(s site)
		code  string
	}{
		"a link":           {func(s site) { s.link("a.txt", s.Workspace+"/out/l") }, faultUnsafe},
		"a link to a tree": {func(s site) { s.link(s.elsewhere, s.Workspace+"/out/l") }, faultUnsafe},
		"a FIFO":           {func(s site) { must(t, syscall.Mkfifo(s.Workspace+"/out/f", 0o600)) }, faultKind},
		"too deep":         {func(s site) { must(t, os.MkdirAll(s.Workspace+"/out"+strings.Repeat("/d", MaxLevels+2), 0o700)) }, faultTooLarge},
		"too many files":   {func(s site) { many(t, s.Workspace+"/out/", MaxFiles-1, false) }, faultTooLarge},
		"too many bytes": {func(s site) {
			for _, name := range []string{"x", "y"} {
				s.put(s.Workspace+"/out/"+name, "")
				must(t, os.Truncate(s.Workspace+"/out/"+name, MaxArtifact/2))
			}
		}, faultTooLarge},
		"too many nodes": {func(s site) { many(t, s.Workspace+"/out/", MaxNodes, true) }, faultTooLarge},
		"the tree is a link": {func(s site) {
			must(t, os.Rename(s.Workspace+"/out", s.elsewhere+"/out"))
			s.link(s.elsewhere+"/out", s.Workspace+"/out")
		}, faultUnsafe},
		"the tree is a FIFO": {func(s site) {
			must(t, os.RemoveAll(s.Workspace+"/out"))
			must(t, syscall.Mkfifo(s.Workspace+"/out", 0o600))
		}, faultKind},
		"the tree is not one": {func(s site) { must(t, os.RemoveAll(s.Workspace+"/out")) }, faultMissing},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, _ := tree(t, tc.build)
			if o.Status != homeboy.Failed || codes(o)[0] != tc.code {
				t.Errorf("%s %v", o.Status, o.Diagnostics)
			}
		})
	}
	for _, path := range []string{"/etc", "../elsewhere", "a/../../elsewhere", "a\x00b"} {
		o := newSite(t).gather(require(homeboy.ArtifactDeclaration{Name: "site", Path: path}), "").Outcome
		if diff := cmp.Diff([]string{faultUnsafe}, codes(o)); diff != "" || o.Status != homeboy.Succeeded {
			t.Errorf("%q: %s %s", path, o.Status, diff)
		}
	}
}

// TestDeclaredTreesAtTheirBounds: edge case 84. What just fits is taken.
func TestDeclaredTreesAtTheirBounds(t *testing.T) {
	t.Parallel()
	for name, build := range map[string]func(s site){
		"files": func(s site) { many(t, s.Workspace+"/out/", MaxFiles-1, false) },
		"nodes": func(s site) { many(t, s.Workspace+"/out/", MaxNodes-1, true) },
		"depth": func(s site) { must(t, os.MkdirAll(s.Workspace+"/out"+strings.Repeat("/d", MaxLevels), 0o700)) },
		"bytes": func(s site) { must(t, os.Truncate(s.Workspace+"/out/a", MaxArtifact)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.put(s.Workspace+"/out/a", "")
			build(s)
			if o := s.gather(require(homeboy.ArtifactDeclaration{Name: "site", Path: "out", Required: true}), "").Outcome; codes(o) != nil && codes(o)[0] != faultEmpty {
				t.Errorf("%s %v", o.Status, o.Diagnostics)
			}
		})
	}
}

// TestDeclaredAndToldCollide: edge case 84. A declared artifact and one that the provider reports have one name and are different:
// both are there, and neither takes the other's place.
func TestDeclaredAndToldCollide(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.put(s.Workspace+"/out/a", "declared")
	s.put(s.Workspace+"/other", "told")
	q := require(homeboy.ArtifactDeclaration{Name: "site", Path: "out/a"}, homeboy.ArtifactDeclaration{Name: "twin", Path: "out/a"})
	o := s.gather(q, `{"id":"site","kind":"log","path":"other"}`).Outcome
	var got []string
	for _, a := range o.Artifacts {
		got = append(got, a.ID+" "+a.SHA256)
	}
	if diff := cmp.Diff([]string{"site " + digestOf("told"), "site-2 " + digestOf("declared"), "twin " + digestOf("declared")}, got); diff != "" || len(s.blobs()) != 2 || !slices.Equal(codes(o), []string{faultCollision}) || o.Status != homeboy.Succeeded {
		t.Errorf("%v %v %s", s.blobs(), o.Diagnostics, diff)
	}
	// The same file is there once.
	if o := s.gather(require(homeboy.ArtifactDeclaration{Name: "site", Path: "./other"}), `{"id":"site","kind":"log","path":"other"}`).Outcome; len(o.Artifacts) != 1 || codes(o) != nil {
		t.Errorf("%+v", o)
	}
}

// TestSwapsWhileGathering: edge cases 80, 84 and 86. Somebody swaps a file and a directory for links out, again and again, while deed
// gathers: it takes what is inside, or nothing.
func TestSwapsWhileGathering(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.put(s.elsewhere+"/f", "outside")
	s.put(s.Workspace+"/d/f", "inside")
	s.link(s.elsewhere, s.Workspace+"/to-dir")
	s.link(s.elsewhere+"/f", s.Workspace+"/to-file")
	s.put(s.Workspace+"/leaf", "inside")
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		swap := func(a, b string) {
			a, b = filepath.Join(s.Workspace, a), filepath.Join(s.Workspace, b)
			for _, err := range []error{os.Rename(a, a+"~"), os.Rename(b, a), os.Rename(a+"~", b)} {
				if err != nil {
					t.Error(err)
				}
			}
		}
		for {
			select {
			case <-stop:
				return
			default:
				swap("d", "to-dir")
				swap("leaf", "to-file")
			}
		}
	}()
	for range 100 {
		s.gather(require(homeboy.ArtifactDeclaration{Name: "tree", Path: "d"}), `{"id":"a","kind":"log","path":"leaf"},{"id":"b","kind":"log","path":"d/f"}`)
	}
	close(stop)
	<-stopped
	for _, name := range s.blobs() {
		if name != digestOf("inside") {
			t.Errorf("blob %s is not of the workspace", name)
		}
	}
}

func many(t *testing.T, dir string, n int, dirs bool) {
	t.Helper()
	for i := range n {
		name := fmt.Sprintf("%s%d", dir, i)
		if dirs {
			must(t, os.Mkdir(name, 0o700))
		} else {
			must(t, os.WriteFile(name, nil, 0o600))
		}
	}
}

// TestWorkIsFoundAfterATimeout: edge case 85.
func TestWorkIsFoundAfterATimeout(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.put(s.Workspace+"/report.md", "half")
	s.put(s.Workspace+"/.run/session.log", "log")
	s.put(s.Workspace+"/.run/deep/other.bin", "bin")
	s.put(s.Artifacts+"/t.transcript", "said")
	s.link("/etc/passwd", s.Workspace+"/.run/evil.log")
	p := provider
	p.TimeoutArtifactDiscovery = &homeboy.ArtifactDiscovery{
		Paths: []string{".run", "/etc", "gone"}, ConfigPathKeys: []string{"dir"}, MetadataPathKeys: []string{"none"},
		ArtifactPatterns: []homeboy.ArtifactPattern{{Kind: "log", Extensions: homeboy.Texts{"log"}}, {ID: "talk", Kind: "transcript", FilenamePatterns: homeboy.Texts{"*.transcript"}, Mime: "text/plain"}},
	}
	q := require(homeboy.ArtifactDeclaration{Name: "report", Path: "report.md", Required: true})
	q.Executor.Config = map[string]homeboy.Value{"dir": value(s.Artifacts)}
	find := func(f Facts) []string {
		var got []string
		a := s.gatherAll(p, q, f, nil)
		for _, a := range a.Outcome.Artifacts {
			got = append(got, a.ID+" "+a.Kind)
		}
		return append(got, string(a.Outcome.Status))
	}
	if diff := cmp.Diff([]string{"report artifact", "session.log log", "talk transcript", "timeout"}, find(with2(printed("", 0), WallTimeout, ""))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"report artifact", "succeeded"}, find(printed(good, 0))); diff != "" {
		t.Error(diff)
	}
}

func TestGatherStopsAndFails(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.put(s.Workspace+"/f", "x")
	a := Read(provider, request, printed(`{"task_id":"t1","status":"succeeded","artifacts":[{"id":"a","kind":"k","path":"f"}]}`, 0), nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := a.Gather(ctx, provider, request, s.Places, s.into); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	// If the directory for the blobs is none, that is this machine's fault, and not the provider's.
	s.put(s.into+"-file", "")
	a = Read(provider, request, printed(`{"task_id":"t1","status":"succeeded","artifacts":[{"id":"a","kind":"k","path":"f"}]}`, 0), nil)
	if err := a.Gather(t.Context(), provider, request, s.Places, s.into+"-file"); err == nil {
		t.Error("kept in a file")
	}
}
