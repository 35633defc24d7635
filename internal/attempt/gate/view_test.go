package gate

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

// What an agent claims is understood as it sees the world, whatever the tree of the evidence looks like. What it did not do is not made true
// by another way to write it.
func TestClaimsAsTheAgentSeesTheWorld(t *testing.T) {
	t.Parallel()
	one := View{Start: "/workspace/app", Parts: workspace.Layout{Mounts: []workspace.Mount{{Target: "/workspace/app"}}}}
	sub := one
	sub.Start = "/workspace/app/docs"
	two := View{Start: "/workspace/one", Parts: workspace.Layout{Mounts: []workspace.Mount{
		{Target: "/workspace/one", Tree: "workspace/one"}, {Target: "/workspace/two", Tree: "workspace/two"}, {Target: "/etc/app.conf", Tree: "etc/app.conf", File: true},
	}}}
	single := map[string]string{"a.md": "a\n", "docs/a.md": "a\n", "b.md": "b\n"}
	several := map[string]string{"workspace/one/a.md": "a\n", "workspace/two/a.md": "a\n", "etc/app.conf": "c\n"}
	const untrue, silent = CodeClaimedNotChanged + ":", CodeChangedNotClaimed + ":"
	for _, c := range []struct {
		name   string
		view   View
		base   map[string]string
		change []string
		claims []string
		want   []string
	}{
		{"as it sees the file", one, single, []string{"a.md"}, []string{"/workspace/app/a.md"}, nil},
		{"not in its shortest form", one, single, []string{"docs/a.md"}, []string{"/workspace//app/./docs/../docs/a.md"}, nil},
		{"by way of its parent", one, single, []string{"a.md"}, []string{"../app/a.md"}, nil},
		{"from where it starts", sub, single, []string{"docs/a.md"}, []string{"a.md"}, nil},
		{"from above where it starts", sub, single, []string{"b.md"}, []string{"../b.md"}, nil},
		{"from the top of the tree", sub, single, []string{"docs/a.md", "b.md"}, []string{"docs/a.md", "b.md"}, nil},
		{"two workspaces, from where it starts", two, several, []string{"workspace/one/a.md"}, []string{"a.md"}, nil},
		{"two workspaces, from the top of the tree", two, several, []string{"workspace/one/a.md"}, []string{"workspace/one/a.md"}, nil},
		{"two workspaces, the other one", two, several, []string{"workspace/two/a.md"}, []string{"../two/a.md"}, nil},
		{"two workspaces, each in its way", two, several, []string{"workspace/one/a.md", "workspace/two/new"}, []string{"a.md", "/workspace/two/new"}, nil},
		{"a file that is a mount", two, several, []string{"etc/app.conf"}, []string{"/etc/app.conf"}, nil},
		{"one file in all forms is one", two, several, []string{"workspace/one/a.md"}, []string{"a.md", "./a.md", "/workspace/one/a.md", "workspace/one/a.md"}, nil},

		{"from where it starts and from the top of the tree", sub, single, []string{"a.md", "docs/a.md"}, []string{"docs/a.md", "a.md"}, nil},
		{"each in a way of its own", sub, single, []string{"a.md", "docs/a.md"}, []string{"a.md", "/workspace/app/docs/a.md"}, nil},
		{"a name below a name", sub, single, []string{"a.md", "docs/a.md", "docs/docs/a.md"}, []string{"a.md", "docs/a.md", "docs/docs/a.md"}, nil},
		{"space at the end of a name", one, single, []string{"tail "}, []string{"tail "}, nil},
		{"space before a name", one, single, []string{" head", "head"}, []string{" head", "head"}, nil},
		{"space around a path", one, single, []string{"a.md", "b.md"}, []string{" a.md\n", "\t/workspace/app/b.md "}, nil},
		{"no text, as documents name it", one, single, []string{"f\xff", "docs/\xfe"}, []string{`f\xff`, `/workspace/app/docs/\xfe`}, nil},
		{"no text, from where it starts", sub, single, []string{"docs/f\xff"}, []string{`f\xff`}, nil},
		{"no text, and a text that looks like it", one, single, []string{"f\xff", `f\xff`}, []string{`f\xff`, `f\\xff`}, nil},
		{"a text that looks like no text", one, single, []string{`f\xff`}, []string{`f\xff`}, nil},

		{"space that a file of the base has", one, map[string]string{"x ": "x"}, []string{"x"}, []string{"x "}, []string{untrue + "x ", silent + "x"}},
		{"no text that is as it was", one, map[string]string{"f\xff": "f"}, nil, []string{`f\xff`}, []string{untrue + `f\xff`}},
		{"no text that is not mentioned", one, single, []string{"f\xff", "a.md"}, []string{"a.md"}, []string{silent + `f\xff`}},
		{"one name twice is one file", sub, single, []string{"a.md", "docs/a.md"}, []string{"a.md", "./a.md", "a.md ", "a.md"}, []string{silent + "a.md"}},
		{"two names for three files", sub, single, []string{"a.md", "docs/a.md", "docs/docs/a.md"}, []string{"a.md", "docs/a.md"}, []string{silent + "a.md"}},
		{"one more than changed", sub, single, []string{"a.md", "docs/a.md"}, []string{"a.md", "docs/a.md", "b.md"}, []string{untrue + "b.md"}},
		{"one name is one file, and another of that name is not mentioned", sub, single, []string{"a.md", "docs/a.md"}, []string{"a.md"}, []string{silent + "a.md"}},
		{"one file in all forms makes up for no other", two, several, []string{"workspace/one/a.md", "workspace/two/a.md"}, []string{"a.md", "/workspace/one/a.md"}, []string{silent + "workspace/two/a.md"}},
		{"another workspace than the one that changed", two, several, []string{"workspace/one/a.md"}, []string{"/workspace/two/a.md"}, []string{untrue + "workspace/two/a.md", silent + "workspace/one/a.md"}},
		{"a file that is as it was", two, several, nil, []string{"a.md", "workspace/two/a.md"}, []string{untrue + "workspace/one/a.md", untrue + "workspace/two/a.md"}},
		{"out of the tree", one, single, []string{"a.md"}, []string{"a.md", "../a.md", "/workspace/app/../../etc/passwd"}, []string{untrue + "../a.md", untrue + "/workspace/app/../../etc/passwd"}},
		{"another place of the same name", one, single, []string{"a.md"}, []string{"/a.md"}, []string{untrue + "/a.md", silent + "a.md"}},
		{"a place whose name only begins like it", one, single, []string{"a.md"}, []string{"/workspace/app2/a.md", "/workspace/apple"}, []string{untrue + "/workspace/app2/a.md", untrue + "/workspace/apple", silent + "a.md"}},
		{"below a file that is a mount", two, several, nil, []string{"/etc/app.conf/x"}, []string{untrue + "/etc/app.conf/x"}},
		{"everything at once", one, single, []string{"a.md"}, []string{".", "/workspace/app"}, []string{untrue + ".", untrue + "/workspace/app", silent + "a.md"}},
		{"the tree's path with a slash before it", one, single, []string{"docs/a.md"}, []string{"/docs/a.md"}, []string{untrue + "/docs/a.md", silent + "docs/a.md"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			back := slices.Clone(c.claims) // the order of claims says nothing
			slices.Reverse(back)
			for _, claims := range [][]string{c.claims, back} {
				got := codes(scene{
					base: c.base, claims: claims, edit: func(in *Input, _ string) { in.View = c.view },
					work: func(t *testing.T, dir string) {
						for _, name := range c.change {
							put(t, dir, name, "changed")
						}
					},
				}.decide(t))
				if !slices.Equal(got, c.want) {
					t.Errorf("claims %q: reasons %v, want %v", claims, got, c.want)
				}
			}
		})
	}
}

// A link of the agent's does not lead a claim to another file.
func TestAClaimFollowsNoLink(t *testing.T) {
	t.Parallel()
	got := codes(scene{
		base: map[string]string{"real/a.md": "a\n"},
		work: func(t *testing.T, dir string) {
			put(t, dir, "real/a.md", "changed")
			must(t, os.Symlink("real", filepath.Join(dir, "short")))
		},
		claims: []string{"/w/short", "/w/short/a.md"},
		edit: func(in *Input, _ string) {
			in.View = View{Start: "/w", Parts: workspace.Layout{Mounts: []workspace.Mount{{Target: "/w"}}}}
		},
	}.decide(t))
	if want := []string{CodeClaimedNotChanged + ":short/a.md", CodeChangedNotClaimed + ":real/a.md"}; !slices.Equal(got, want) {
		t.Errorf("reasons %v, want %v", got, want)
	}
}

// The adapter's account and the names of artifacts are read in the same eyes.
func TestTheAccountAsTheAgentSeesTheWorld(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		said string
		want []string
	}{
		{"a.md", nil},
		{"workspace/one/a.md", nil},
		{"b.md", []string{CodeAuditMismatch + ":workspace/one/a.md", CodeAuditMismatch + ":workspace/one/b.md"}},
	} {
		got := codes(scene{
			base: map[string]string{"workspace/one/a.md": "a\n"}, work: change("workspace/one/a.md", "changed"), claims: []string{"a.md"},
			edit: func(in *Input, dir string) {
				in.View = View{Start: "/workspace/one", Parts: workspace.Layout{Mounts: []workspace.Mount{{Target: "/workspace/one", Tree: "workspace/one"}}}, Artifacts: "/run/deed/artifacts"}
				in.Claim.ArtifactPaths = []string{"/run/deed/artifacts/" + driver.AuditFile}
				write(dir, driver.AuditFile, `{"schema": "deed/adapter-audit/v1", "file_changes": ["`+c.said+`"]}`)
			},
		}.decide(t))
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: reasons %v, want %v", c.said, got, c.want)
		}
	}
}

// What no patch carries may be in the account, as it may be in the claim. What did not change may be in neither.
func TestTheAccountOfWhatNoPatchCarries(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		said []string
		want []string
	}{
		{[]string{"main.go"}, nil},
		{[]string{"main.go", "x.log", "empty", "run.sh"}, nil},
		{[]string{"main.go", "x.log", "y.log"}, []string{CodeAuditMismatch + ":y.log"}},
		{[]string{"x.log"}, []string{CodeAuditMismatch + ":main.go"}},
	} {
		got := codes(scene{
			base:   map[string]string{"main.go": "package main\n", ".gitignore": "*.log\n", "run.sh": "true\n"},
			claims: []string{"main.go"},
			work: func(t *testing.T, dir string) {
				put(t, dir, "main.go", "changed")
				put(t, dir, "x.log", "said")
				must(t, os.Mkdir(filepath.Join(dir, "empty"), 0o755))
				must(t, os.Chmod(filepath.Join(dir, "run.sh"), 0o600))
			},
			edit: func(in *Input, dir string) {
				text, err := json.Marshal(map[string]any{"schema": "deed/adapter-audit/v1", "file_changes": c.said})
				must(t, err)
				in.Claim.ArtifactPaths = []string{driver.AuditFile}
				write(dir, driver.AuditFile, string(text))
			},
		}.decide(t))
		if !slices.Equal(got, c.want) {
			t.Errorf("%v: reasons %v, want %v", c.said, got, c.want)
		}
	}
}
