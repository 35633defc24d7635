package skill

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/internal/base/filetree"
	"github.com/deedrun/deed/internal/base/home"
)

const instructions = `---
name: links
description: Finds dead links. Use it when documents change.
license: MIT
compatibility: Requires sh
metadata:
  author: somebody
  version: "1.2"
allowed-tools: Read Bash(git:*)
---

# Links

Run ` + "`links-check`" + ` first.
`

const manifest = `
tags: [docs]
cli_commands:
  - {name: links-check, command: scripts/check.sh --strict, description: Looks at every link}
sensor_path: sensors.yaml
input_schema_id: schemas/input.json
output_schema_id: example/links.output/v1
`

func files() map[string]string {
	return map[string]string{
		"SKILL.md": instructions, "AGENT.md": "Be brief.\n", "skill.yaml": manifest,
		"scripts/check.sh":    "#!/bin/sh\necho \"$@\"\n",
		"sensors.yaml":        "docs-changed: {kind: directory, directory: docs, task: {task_type: script}}\n",
		"schemas/input.json":  `{"type": "object", "required": ["path"]}`,
		"schemas/output.json": `{"$id": "example/links.output/v1", "type": "object", "required": ["dead"]}`,
		"references/more.md":  "More.\n",
	}
}

func tree(t testing.TB, files map[string]string) filetree.Tree {
	t.Helper()
	var list []filetree.File
	for name, text := range files {
		list = append(list, filetree.File{Path: name, Exec: strings.HasSuffix(name, ".sh"), Data: []byte(text)})
	}
	out, err := filetree.Of(list...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func write(t testing.TB, dir string, files map[string]string) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := tree(t, files).Write(dir, false); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestParse(t *testing.T) {
	t.Parallel()
	s, err := Parse("links", tree(t, files()))
	if err != nil {
		t.Fatal(err)
	}
	if s.Version != "1.2" || s.License != "MIT" || s.Metadata["author"] != "somebody" || s.Subagent != "Be brief.\n" || s.Manifest.SubagentPath != "AGENT.md" {
		t.Errorf("got %+v", s)
	}
	if !strings.HasPrefix(s.Body, "# Links") || strings.Contains(s.Body, "---") {
		t.Errorf("body %q", s.Body)
	}
	if diff := cmp.Diff([]Command{{"links-check", "scripts/check.sh", []string{"--strict"}, "Looks at every link"}}, s.Commands); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"Read", "Bash(git:*)"}, s.AllowedTools); diff != "" {
		t.Error(diff)
	}
	if len(s.Sensors) != 1 || s.Input == nil || !strings.Contains(string(s.Output), "dead") || s.OutputFile() != "links.output.json" {
		t.Errorf("got %v %s %s", s.Sensors, s.Input, s.Output)
	}
	if err := s.Manifest.Validate(); err != nil {
		t.Error(err)
	}
}

// A folder as others write it is a skill too.
func TestParsePlainFolder(t *testing.T) {
	t.Parallel()
	s, err := Parse("pdf", tree(t, map[string]string{
		"SKILL.md":      "---\r\nname: pdf\r\ndescription: >\r\n  Reads\r\n  pages.\r\nmetadata: {version: 2}\r\nuser-invocable: true\r\nallowed-tools:\r\n  - Read\r\n---\r\nText\r\n",
		"bin/pdf-do.sh": "#!/bin/sh\n", "bin/data": "x", "scripts/other.sh": "#!/bin/sh\n",
	}))
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Commands) != 1 || s.Commands[0].Name != "pdf-do.sh" || s.Version != "2" || len(s.Notes) != 2 || strings.TrimSpace(s.Manifest.Description) != "Reads pages." {
		t.Errorf("got %+v", s)
	}
	s, err = Parse("bare", tree(t, map[string]string{"SKILL.md": "---\nname: bare\ndescription: d\n---"}))
	if err != nil || s.Body != "" || !strings.HasPrefix(strings.TrimPrefix(s.Digest, "sha256:"), s.Version) || len(s.Version) != 12 {
		t.Errorf("got %+v, %v", s, err)
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	bomb := "---\nname: links\ndescription: &a [x,x]\nmetadata: {b: &b [*a,*a,*a], c: [*b,*b,*b]}\n---\n"
	for name, c := range map[string]struct {
		dir  string
		edit func(f map[string]string)
		want []string
	}{
		"nothing":       {"links", func(f map[string]string) { clear(f) }, []string{"SKILL.md: is missing"}},
		"no front":      {"links", set("SKILL.md", "# Links\n"), []string{"has no front matter"}},
		"empty front":   {"links", set("SKILL.md", "---\n---\nx"), []string{"has an empty front matter"}},
		"open front":    {"links", set("SKILL.md", "---\nname: links\n"), []string{"does not end"}},
		"huge front":    {"links", set("SKILL.md", "---\nname: "+strings.Repeat("x", 40<<10)+"\n---\n"), []string{"front matter of"}},
		"huge":          {"links", set("SKILL.md", instructions+strings.Repeat("x", 300<<10)), []string{"more than 262144"}},
		"binary":        {"links", set("SKILL.md", "---\nname: links\xff\n---\n"), []string{"is no text in UTF-8"}},
		"no yaml":       {"links", set("SKILL.md", "---\nname: [\n---\n"), []string{"SKILL.md"}},
		"aliases":       {"links", set("SKILL.md", bomb), []string{"SKILL.md"}},
		"deep":          {"links", set("SKILL.md", "---\nmetadata: "+strings.Repeat("[", 500)+"\n---\n"), []string{"SKILL.md"}},
		"list":          {"links", set("SKILL.md", "---\n- a\n---\n"), []string{"no list of name: value"}},
		"all at once":   {"links", set("SKILL.md", "---\nname: Links\nmetadata: {a: [b]}\nlicense: 3\n---\n"), []string{"SKILL.md $.name: line 2", "$.description: line 2: is missing", "$.metadata.a", "$.license"}},
		"other name":    {"link", func(map[string]string) {}, []string{`$.name: line 2: "links" is not the name of the folder, "link"`}},
		"bad folder":    {"../links", func(map[string]string) {}, []string{"the name of the folder"}},
		"long":          {"links", set("SKILL.md", "---\nname: links\ndescription: "+strings.Repeat("x", 1025)+"\n---\n"), []string{"has 1025 characters, more than 1024"}},
		"compatibility": {"links", set("SKILL.md", "---\nname: links\ndescription: d\ncompatibility: "+strings.Repeat("x", 501)+"\n---\n"), []string{"$.compatibility"}},
		"version":       {"links", set("SKILL.md", "---\nname: links\ndescription: d\nmetadata: {version: \"1\\n2\"}\n---\n"), []string{"$.metadata.version"}},
		"two manifests": {"links", set("skill.json", "{}"), []string{"skill.json: is there beside skill.yaml"}},
		"unknown field": {"links", set("skill.yaml", "cli_command: []\n"), []string{"skill.yaml $.cli_command: line 1"}},
		"other id":      {"links", set("skill.yaml", "skill_id: other\n"), []string{`skill.yaml $.skill_id: line 1: "other" is not what SKILL.md says`}},
		"other text":    {"links", set("skill.yaml", "instruction_path: AGENT.md\n"), []string{"$.instruction_path"}},
		"no sensor":     {"links", set("skill.yaml", "sensor_path: nowhere.yaml\n"), []string{"skill.yaml $.sensor_path: line 1: \"nowhere.yaml\" is not in the skill"}},
		"path out":      {"links", set("skill.yaml", "sensor_path: ../sensors.yaml\n"), []string{"$.sensor_path"}},
		"no schema":     {"links", set("skill.yaml", "input_schema_id: nowhere/v1\n"), []string{`$.input_schema_id: "nowhere/v1" is neither`}},
		"bad schema":    {"links", set("schemas/input.json", `{"type": "objekt"}`), []string{"schemas/input.json"}},
		"remote schema": {"links", set("schemas/input.json", `{"$ref": "https://example.com/x"}`), []string{"schemas/input.json"}},
		"bad sensor":    {"links", set("sensors.yaml", "x: {kind: gitt}\n"), []string{"sensors.yaml $.x.kind: line 1"}},
		"command out":   {"links", set("skill.yaml", "cli_commands: [{name: a, command: ../../bin/sh}]\n"), []string{`"../../bin/sh" is not a file of the skill`}},
		"absolute":      {"links", set("skill.yaml", "cli_commands: [{name: a, command: /bin/sh}]\n"), []string{"not a file of the skill"}},
		"not exec":      {"links", set("skill.yaml", "cli_commands: [{name: a, command: references/more.md}]\n"), []string{"is not executable"}},
		"shadow git":    {"links", set("skill.yaml", "cli_commands: [{name: git, command: scripts/check.sh}]\n"), []string{`"git" is the name of a program that others rely on`}},
		"shadow sh":     {"links", set("skill.yaml", "cli_commands: [{name: sh, command: scripts/check.sh}]\n"), []string{"others rely on"}},
		"slash":         {"links", set("skill.yaml", "cli_commands: [{name: a/b, command: scripts/check.sh}]\n"), []string{"$.cli_commands[0].name"}},
		"dots":          {"links", set("skill.yaml", "cli_commands: [{name: .., command: scripts/check.sh}]\n"), []string{"$.cli_commands[0].name"}},
		"shell":         {"links", set("skill.yaml", "cli_commands: [{name: \"a;b\", command: scripts/check.sh}]\n"), []string{"$.cli_commands[0].name"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := files()
			c.edit(f)
			_, err := Parse(c.dir, tree(t, f))
			var e *Error
			if !errors.As(err, &e) || fault.Of(err) == nil {
				t.Fatalf("got %v", err)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error lacks %q:\n%v", want, err)
				}
			}
		})
	}
}

func set(name, text string) func(map[string]string) {
	return func(f map[string]string) { f[name] = text }
}

func TestNames(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"a", "pdf-2", strings.Repeat("x", 64)} {
		if why := CheckName(good); why != "" {
			t.Errorf("%q: %s", good, why)
		}
	}
	for _, bad := range []string{"", "A", "-a", "a-", "a--b", "a_b", "a/b", "..", "ä", "a b", strings.Repeat("x", 65)} {
		if CheckName(bad) == "" {
			t.Errorf("%q is taken", bad)
		}
	}
}

func newHome(t *testing.T) *home.Home {
	t.Helper()
	h, err := home.Open(filepath.Join(t.TempDir(), "home"))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// The nearest project's skills come before the home's, and never in the place of another of the operator's.
func TestFind(t *testing.T) {
	t.Parallel()
	h, project := newHome(t), t.TempDir()
	other := files()
	other["AGENT.md"] = "Be loud.\n"
	write(t, filepath.Join(project, ".claude/skills/links"), files())
	write(t, filepath.Join(project, ".agents/skills/links"), other)
	below := filepath.Join(project, "a/b")
	if err := os.MkdirAll(below, 0o755); err != nil {
		t.Fatal(err)
	}
	c := For(h, below)
	f, err := c.Find("links")
	if err != nil || f.From != ".claude/skills" || f.Skill.Subagent != "Be brief.\n" {
		t.Fatalf("got %+v, %v", f, err)
	}
	for _, id := range []string{"linkz", "../links", "LINKS"} {
		if _, err := c.Find(id); !errors.Is(err, ErrUnknown) {
			t.Errorf("%s: %v", id, err)
		}
	}
	if _, err := c.Find("linkz"); !strings.Contains(err.Error(), "did you mean links") {
		t.Errorf("got %v", err)
	}
	write(t, filepath.Join(h.Skills(), "links"), other)
	if _, err := c.Find("links"); err == nil || !strings.Contains(err.Error(), "with other content") {
		t.Errorf("a project takes the place of the operator's: %v", err)
	}
	if f, err := For(h, "").Find("links"); err != nil || f.Skill.Subagent != "Be loud.\n" {
		t.Errorf("got %+v, %v", f, err)
	}
	if err := os.Symlink(filepath.Join(h.Skills(), "links"), filepath.Join(h.Skills(), "alias")); err != nil {
		t.Fatal(err)
	}
	if _, err := For(h, "").Find("alias"); !errors.Is(err, ErrUnknown) {
		t.Errorf("a link passes for a skill: %v", err)
	}
}

func TestAddAndKeep(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	src := write(t, filepath.Join(t.TempDir(), "links"), files())
	if _, err := Add(t.Context(), h, src, AddOptions{}); !errors.Is(err, ErrSensors) {
		t.Fatalf("sensors without a word: %v", err)
	}
	a, err := Add(t.Context(), h, src, AddOptions{Sensors: true})
	if err != nil || a.Same || a.Replaced {
		t.Fatalf("got %+v, %v", a, err)
	}
	c := For(h, "")
	f, err := c.Find("links")
	if err != nil || f.Skill.Digest != a.Skill.Digest {
		t.Fatalf("got %+v, %v", f, err)
	}
	if a, err = Add(t.Context(), h, src, AddOptions{Sensors: true}); err != nil || !a.Same {
		t.Errorf("the same again: %+v, %v", a, err)
	}
	if err := c.Keep(f.Skill); err != nil {
		t.Fatal(err)
	}
	pin := f.Skill.Pin(true)

	if err := os.WriteFile(filepath.Join(src, "AGENT.md"), []byte("Be loud.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Add(t.Context(), h, src, AddOptions{Sensors: true}); !errors.Is(err, ErrTaken) {
		t.Errorf("another version without a word: %v", err)
	}
	if a, err = Add(t.Context(), h, src, AddOptions{Sensors: true, Replace: true}); err != nil || !a.Replaced {
		t.Errorf("replaced: %+v, %v", a, err)
	}
	if f, err = c.Find("links"); err != nil || f.Skill.Subagent != "Be loud.\n" {
		t.Errorf("got %+v, %v", f, err)
	}
	if s, err := c.Load(pin); err != nil || s.Subagent != "Be brief.\n" {
		t.Errorf("the version that was kept: %+v, %v", s, err)
	}
	if err := Remove(h, "links"); err != nil {
		t.Fatal(err)
	}
	if err := Remove(h, "links"); !errors.Is(err, ErrUnknown) {
		t.Errorf("removed twice: %v", err)
	}
	if _, err := c.Load(pin); err != nil {
		t.Errorf("a task loses its skill: %v", err)
	}
	gone := pin
	gone.Digest = "sha256:" + strings.Repeat("0", 64)
	if _, err := c.Load(gone); err == nil || !strings.Contains(err.Error(), "is not here") {
		t.Errorf("got %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(h.Tmp(), "*")); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

// An archive with the folder in it, or with its files alone, is the same skill.
func TestAddArchive(t *testing.T) {
	t.Parallel()
	plain := files()
	folder := map[string]string{}
	for name, text := range plain {
		folder["links/"+name] = text
	}
	var digests []string
	for _, f := range []map[string]string{plain, folder} {
		file := filepath.Join(t.TempDir(), "download.tgz")
		out, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(tree(t, f).Pack(out), out.Close()); err != nil {
			t.Fatal(err)
		}
		s, err := Pick(file)
		if err != nil {
			t.Fatal(err)
		}
		digests = append(digests, s.Digest)
	}
	if digests[0] != digests[1] {
		t.Errorf("got %v", digests)
	}
}

// A launcher runs the file of the skill with its arguments, whatever the path looks like.
func TestLaunchers(t *testing.T) {
	t.Parallel()
	dir := write(t, filepath.Join(t.TempDir(), "it's $HOME"), files())
	s, err := Parse("links", tree(t, files()))
	if err != nil {
		t.Fatal(err)
	}
	list, err := Launchers([]*Skill{s}, func(string) string { return dir })
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := list.Write(bin, true); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(filepath.Join(bin, "links-check"), "a b", "$x").CombinedOutput()
	if err != nil || string(out) != "--strict a b $x\n" {
		t.Errorf("got %q, %v", out, err)
	}
	if _, err := Launchers([]*Skill{s, s}, func(string) string { return dir }); err == nil {
		t.Error("two commands of one name are taken")
	}
}

func FuzzParse(f *testing.F) {
	f.Add(instructions, manifest)
	f.Add("---\nname: links\n---", "")
	f.Add("---\nmetadata: &a\n  b: *a\n---\n", "cli_commands: []")
	f.Fuzz(func(t *testing.T, text, manifest string) {
		m := files()
		m["SKILL.md"], m["skill.yaml"] = text, manifest
		s, err := Parse("links", tree(t, m))
		if err != nil {
			return
		}
		if err := s.Manifest.Validate(); err != nil {
			t.Fatalf("a skill that was taken breaks the contract: %v", err)
		}
		if _, err := Launchers([]*Skill{s}, func(string) string { return "/x" }); err != nil {
			t.Fatal(err)
		}
	})
}
