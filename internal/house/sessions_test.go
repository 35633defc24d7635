package house

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A session is what the fenced blocks marked "console" of one document show: commands after "$ ", each followed by
// what it prints. A line of the output may hold "…" for what differs from run to run, and a line that is "…" alone
// stands for any number of lines. A command ends with status 0, unless it is followed by "# exits N".
type session struct {
	document string
	steps    []step
}

type step struct {
	line    int // in the document
	command string
	status  int
	output  []string
}

var exits = regexp.MustCompile(`\s+# exits (\d+)$`)

func parseSession(document, text string) (session, error) {
	s := session{document: document}
	inBlock, goesOn := false, false
	var err error
	forLines(text, func(n int, line string) {
		line = strings.TrimRight(line, "\r\n")
		command, isCommand := strings.CutPrefix(line, "$ ")
		switch {
		case strings.HasPrefix(line, "```"):
			inBlock = !inBlock && line == "```console"
			goesOn = false
		case !inBlock:
		case goesOn:
			last := &s.steps[len(s.steps)-1]
			last.command += "\n" + line
			goesOn = strings.HasSuffix(line, "\\")
		case isCommand:
			st := step{line: n, command: command}
			if m := exits.FindStringSubmatch(command); m != nil {
				st.command = strings.TrimSuffix(command, m[0])
				st.status, err = strconv.Atoi(m[1])
			}
			s.steps = append(s.steps, st)
			goesOn = strings.HasSuffix(command, "\\")
		case len(s.steps) == 0:
			err = fmt.Errorf("%s:%d: output before the first command", document, n)
		default:
			last := &s.steps[len(s.steps)-1]
			last.output = append(last.output, line)
		}
	})
	return s, err
}

// run plays the session in one shell, so that cd and variables carry over, and returns what differs.
func (s session) run(ctx context.Context, dir string, env []string) ([]finding, error) {
	const mark = "\x01step\x01"
	var script strings.Builder
	for _, st := range s.steps {
		fmt.Fprintf(&script, "%s\nprintf '%s%%d\\n' $?\n", st.command, mark)
	}
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, "bash", "-c", script.String())
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, env, &out, &out
	cmd.WaitDelay = time.Second
	runErr := cmd.Run()

	parts := strings.Split(out.String(), mark)
	if len(parts) != len(s.steps)+1 {
		if runErr == nil {
			runErr = errors.New("a command ended it")
		}
		return nil, fmt.Errorf("%s: the shell ended after %d of %d commands: %w, after:\n%s", s.document, len(parts)-1, len(s.steps), runErr, out.String())
	}
	var found []finding
	for i, st := range s.steps {
		output := parts[i]
		if i > 0 {
			_, output, _ = strings.Cut(output, "\n") // after the status of the command before
		}
		status, _, _ := strings.Cut(parts[i+1], "\n")
		if status != strconv.Itoa(st.status) {
			found = append(found, finding{s.document, st.line, fmt.Sprintf("%q ends with status %s, want %d:\n%s", st.command, status, st.status, output)})
			continue
		}
		if at := matchLines(st.output, lines(output)); at != "" {
			found = append(found, finding{s.document, st.line, fmt.Sprintf("%q %s; it printed:\n%s", st.command, at, output)})
		}
	}
	return found, nil
}

// lines splits output and drops blanks at the ends of lines and blank lines at the end.
func lines(output string) []string {
	var all []string
	for line := range strings.Lines(output) {
		all = append(all, strings.TrimRight(line, " \t\r\n"))
	}
	for len(all) > 0 && all[len(all)-1] == "" {
		all = all[:len(all)-1]
	}
	return all
}

// matchLines says where the output differs from what the document shows, or nothing.
func matchLines(want, got []string) string {
	for len(want) > 0 && want[len(want)-1] == "" {
		want = want[:len(want)-1]
	}
	for i, w := range want {
		if w == "…" {
			if i == len(want)-1 {
				return ""
			}
			for len(got) > 0 && !matchLine(want[i+1], got[0]) {
				got = got[1:]
			}
			continue
		}
		if len(got) == 0 {
			return fmt.Sprintf("does not print %q", w)
		}
		if !matchLine(w, got[0]) {
			return fmt.Sprintf("prints %q for %q", got[0], w)
		}
		got = got[1:]
	}
	if len(got) > 0 {
		return fmt.Sprintf("prints %q, which the document does not show", got[0])
	}
	return ""
}

func matchLine(want, got string) bool {
	parts := strings.Split(strings.TrimRight(want, " \t"), "…")
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	return regexp.MustCompile("^" + strings.Join(parts, ".*") + "$").MatchString(got)
}

// TestSessions runs the commands that the documents show, with the deed of this source.
func TestSessions(t *testing.T) {
	t.Parallel()
	var sessions []session
	for _, f := range repository(t) {
		if path.Ext(f.path) != ".md" || strings.Contains("/"+f.path, "/testdata/") {
			continue
		}
		s, err := parseSession(f.path, f.text)
		if err != nil {
			t.Error(err)
		}
		if f.path == "README.md" && len(s.steps) == 0 {
			t.Error("README.md shows no session: its commands are in blocks marked console")
		}
		if len(s.steps) > 0 {
			sessions = append(sessions, s)
		}
	}
	if len(sessions) == 0 {
		return
	}

	bin := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(bin, "deed"), "./cmd/deed")
	build.Dir = filepath.Join("..", "..")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build deed: %v\n%s", err, out)
	}
	for _, s := range sessions {
		t.Run(s.document, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			home := t.TempDir()
			env := append(os.Environ(), "HOME="+home, "DEED_HOME="+filepath.Join(home, "deed"),
				"PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
			found, err := s.run(ctx, t.TempDir(), append(env, goDirs(t)...))
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range found {
				t.Error(f)
			}
		})
	}
}

// goDirs keeps the caches of Go where they are, though the session has another home.
func goDirs(t *testing.T) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOCACHE", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	dirs := strings.Fields(string(out))
	return []string{"GOCACHE=" + dirs[0], "GOMODCACHE=" + dirs[1]}
}

func TestSessionsCatch(t *testing.T) {
	t.Parallel()
	block := func(body string) string { return "Text.\n\n```console\n" + body + "```\n\n```sh\nexit 9\n```\n" }
	for _, tt := range []struct {
		name, text string
		want       string // in the finding; nothing when the session is right
	}{
		{"right", block("$ echo a; echo b\na\nb\n"), ""},
		{"state carries over", block("$ mkdir d && cd d\n$ x=1\n$ basename $PWD; echo $x\nd\n1\n"), ""},
		{"long command", block("$ echo a \\\n    b\na b\n"), ""},
		{"part of a line", block("$ echo took 17 ms\ntook … ms\n"), ""},
		{"lines left out", block("$ seq 9\n1\n…\n9\n"), ""},
		{"rest left out", block("$ seq 9\n1\n…\n"), ""},
		{"expected status", block("$ exit_with() { return $1; }\n$ exit_with 3 # exits 3\n"), ""},
		{"stderr counts", block("$ echo e >&2\ne\n"), ""},
		{"other output", block("$ echo a\nb\n"), `doc.md:4: "echo a" prints "a" for "b"`},
		{"less output", block("$ echo a\na\nb\n"), `does not print "b"`},
		{"more output", block("$ echo a; echo b\na\n"), `prints "b", which the document does not show`},
		{"status", block("$ false\n"), "ends with status 1, want 0"},
		{"no failure", block("$ true # exits 1\n"), "ends with status 0, want 1"},
		{"lines never come", block("$ seq 3\n1\n…\n9\n"), `does not print "9"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, err := parseSession("doc.md", tt.text)
			if err != nil {
				t.Fatal(err)
			}
			found, err := s.run(t.Context(), t.TempDir(), os.Environ())
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if len(found) > 0 {
				got = found[0].String()
			}
			if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
				t.Errorf("found %q, want %q", got, tt.want)
			}
		})
	}
	if _, err := parseSession("doc.md", block("stray\n")); err == nil {
		t.Error("output before the first command is accepted")
	}
}
