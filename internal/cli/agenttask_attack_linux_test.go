package cli

import (
	"bytes"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/deedrun/deed/contract/codebox"
	"github.com/deedrun/deed/internal/evidence/bundle/bundletest"
	"github.com/deedrun/deed/internal/store"
)

const (
	victim    = "victim-5d1f0c22"           // in every file that an agent must not read
	hidden    = "tok+4be1/93a7c0f2d8516e9b" // the value of TOKEN
	completed = `echo '{"status": "completed", "machine_status": "ok", "operator_summary": "done"}' > "$DEED_RESULT_FILE"` + "\n"
)

// An attackRow is an agent that attacks, and what the orchestrator gets. In the scripts $OUT is the site's directory on
// the host, which holds the home, the caller's files and the canary.
type attackRow struct {
	name   string
	agent  string
	checks []string
	code   int
	class  string // failure_classification
	says   string // a pattern in the envelope
	patch  string // a pattern in the patch
	never  string // a pattern that is nowhere in envelope and bundle
}

var attackRows = []attackRow{
	{name: "write into the bundle", agent: `for d in "$OUT/out/bundle/files" "$OUT/out" "$OUT/home/bundles/x/files" "$OUT/canary.d"; do mkdir -p "$d"; echo forged-1b7 > "$d/test-results.json"; done
		echo fixed > main.txt;` + completed, code: ExitDone, patch: `fixed`, never: `forged-1b7`},
	{
		name: "forge the results", agent: `for d in files "$DEED_ARTIFACTS/files" "$(dirname "$DEED_RESULT_FILE")/files"; do mkdir -p "$d"
		echo '{"status": "passed"}' | tee "$d/test-results.json" "$d/verdict.json" > "$d/completion-outcome.json"; done;` + completed,
		checks: []string{"grep -q fixed main.txt"}, code: ExitNotDone, class: "gate", says: `check_failed`,
	},
	{name: "plant a git configuration", agent: `git init -q . 2>/dev/null; mkdir -p .git/hooks .git/info
		printf '[core]\n\trepositoryformatversion = 0\n\tfsmonitor = touch %s/canary-1\n\thooksPath = .git/hooks\n\tsshCommand = touch %s/canary-2\n\tpager = touch %s/canary-7\n[filter "x"]\n\tclean = touch %s/canary-3; cat\n\tsmudge = touch %s/canary-3; cat\n\tprocess = touch %s/canary-3\n[diff "x"]\n\ttextconv = touch %s/canary-4\n\texternal = touch %s/canary-4\n[include]\n\tpath = %s/deed.yaml\n[submodule "s"]\n\turl = ext::sh -c touch%% %s/canary-5\n\tupdate = !touch %s/canary-5\n' $OUT $OUT $OUT $OUT $OUT $OUT $OUT $OUT $OUT $OUT $OUT > .git/config
		for h in post-checkout pre-commit post-index-change fsmonitor-watchman reference-transaction; do printf '#!/bin/sh\ntouch %s/canary-6\n' $OUT > .git/hooks/$h; chmod +x .git/hooks/$h; done
		printf '* filter=x diff=x\n' | tee .gitattributes > .git/info/attributes
		printf '[submodule "s"]\n\tpath = s\n\turl = ext::sh -c touch%% %s/canary-5\n' $OUT > .gitmodules
		echo /etc > .git/objects/info/alternates
		echo fixed > main.txt;` + completed, checks: []string{"grep -q fixed main.txt"}, code: ExitDone, patch: `fixed`},
	{name: "make the repository a link", agent: `rm -rf .git; echo "gitdir: $OUT/home" > .git; echo fixed > main.txt;` + completed, code: ExitDone, patch: `fixed`},
	{name: "a sparse file of 10 GB", agent: `truncate -s 10G big || dd if=/dev/null of=big bs=1 seek=10G; echo fixed > main.txt;` + completed, code: ExitDone, patch: `fixed`},
	{name: "a pipe in the workspace", agent: `mkfifo pipe; echo fixed > main.txt;` + completed, code: ExitNotDone, class: "gate", says: `pipe`},
	{name: "a socket in the workspace", agent: `python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("sock")'; echo fixed > main.txt;` + completed, code: ExitNotDone, class: "gate", says: `sock`},
	{name: "a pipe among the artifacts", agent: `mkfifo "$DEED_ARTIFACTS/pipe"; echo fixed > main.txt;` + completed, code: ExitDone, patch: `fixed`},
	{name: "a pipe that is declared", agent: `mkfifo "$DEED_ARTIFACTS/pipe"; echo fixed > main.txt; echo '{"status": "completed", "machine_status": "ok", "operator_summary": "done", "artifact_paths": ["pipe"]}' > "$DEED_RESULT_FILE"`, code: ExitNotDone, class: "gate", says: `artifact_invalid`},
	{name: "a link among the artifacts", agent: `ln -s "$OUT/home/keys/ed25519.pem" "$DEED_ARTIFACTS/key"; ln -s /etc/passwd "$DEED_ARTIFACTS/p"; echo fixed > main.txt;` + completed, code: ExitDone, patch: `fixed`, never: `PRIVATE KEY|root:x:0`},
	{name: "a result that is a pipe", agent: `mkfifo "$DEED_RESULT_FILE"; echo fixed > main.txt`, code: ExitNotDone, class: "runtime"},
	{name: "a result that is a link", agent: `ln -s /etc/passwd "$DEED_RESULT_FILE"; echo fixed > main.txt`, code: ExitNotDone, class: "runtime", never: `root:x:0`},
	{name: "a result that leads to the host", agent: `ln -s "$OUT/forged.json" "$DEED_RESULT_FILE"; echo fixed > main.txt`, code: ExitNotDone, class: "runtime", never: victim},
	{name: "a result that is a directory", agent: `mkdir "$DEED_RESULT_FILE"; echo fixed > main.txt`, code: ExitNotDone, class: "runtime"},
	{name: "a huge result", agent: `head -c 300000000 /dev/zero | tr '\0' x > "$DEED_RESULT_FILE"; echo fixed > main.txt`, code: ExitNotDone, class: "runtime"},
	{name: "an exchange that is swapped", agent: `d=$(dirname "$DEED_RESULT_FILE"); rm -f "$d"/*; rmdir "$d"; ln -s /etc "$d"; echo fixed > main.txt`, code: ExitDone, patch: `fixed`},
	{name: "a name with escape codes", agent: `echo x > "$(printf 'a\nb\033[31mred\033]0;owned\007')"; echo x > "$DEED_ARTIFACTS/$(printf 'ok\033[2J')"; printf '{"status": "completed", "machine_status": "ok", "operator_summary": "\\u001b[31mred\\u009b5m"}' > "$DEED_RESULT_FILE"; printf '\033]0;t\007out\n'`, code: ExitNotDone, class: "gate", says: `artifact_invalid`},
	{name: "a name with escape codes in the change", agent: `echo x > "$(printf 'a\nb\033[31mred\033]0;owned\007')"; printf '{"status": "completed", "machine_status": "ok", "operator_summary": "\\u001b[31mred\\u009b5m", "structured_artifacts": [{"name": "\\u001b[31m", "type": "t"}]}' > "$DEED_RESULT_FILE"; printf '\033]0;t\007out\n'`, code: ExitDone, patch: `red`},
	{name: "a link out of the workspace", agent: `rm main.txt; ln -s "$OUT/user/notes.txt" main.txt;` + completed, code: ExitNotDone, class: "gate", says: `link_outside`},
	{name: "read the caller", agent: `cat "$OUT/user/notes.txt" "$OUT/home/deed.db" "$OUT"/home/keys/* "$OUT/forged.json" /root/.ssh/* 2>&1; ls "$OUT/home/attempts" "$OUT/home"; find / -xdev -name 'notes.txt' 2>/dev/null; cat /proc/*/environ /proc/*/cmdline | tr '\0' '\n' | grep HOSTVAR
		echo fixed > main.txt;` + completed, code: ExitDone, patch: `fixed`, never: victim + `|PRIVATE KEY|HOSTVAR=`},
	{name: "kill everything", agent: `echo fixed > main.txt; kill -9 -1; kill -9 $PPID; sleep 1;` + completed, code: ExitDone, patch: `fixed`},
	{name: "leave a daemon", agent: `for i in 1 2 3; do (setsid sh -c 'trap "" TERM HUP; sleep 300' >/dev/null 2>&1 &); done; echo fixed > main.txt;` + completed, code: ExitDone, patch: `fixed`},
	{name: "ask for more work", agent: `echo fixed > main.txt; echo '{"status": "completed", "machine_status": "ok", "operator_summary": "done", "follow_up_tasks": [{"task_type": "script", "source": "agent", "requested_adapter_id": "work", "payload": {}}], "external_messages": [{"to": "x"}]}' > "$DEED_RESULT_FILE"`, code: ExitDone, patch: `fixed`},
	{name: "talk without end", agent: `yes talk | head -c 50000000; echo fixed > main.txt;` + completed, code: ExitDone, patch: `fixed`},
	{name: "claim what is elsewhere", agent: `echo fixed > main.txt; echo '{"status": "completed", "file_changes": ["main.txt", "../../etc/passwd", "/home/agent/main.txt"]}' > "$DEED_RESULT_FILE"`, code: ExitNotDone, class: "gate", says: `changed \.\./\.\./etc/passwd, and there is no such change`},
	{name: "claim by way of a link", agent: `mkdir real; echo x > real/f; ln -s real short; echo '{"status": "completed", "file_changes": ["short", "short/f"]}' > "$DEED_RESULT_FILE"`, code: ExitNotDone, class: "gate", says: `changed_not_claimed`},
	{name: "contradict itself", agent: `echo '{"status": "completed", "machine_status": "failed", "operator_summary": "done"}' > "$DEED_RESULT_FILE"; echo fixed > main.txt`, code: ExitNotDone, class: "runtime"},
	{name: "a result that breaks the envelope", agent: `echo fixed > main.txt; printf '{"status": "completed", "machine_status": "ok", "operator_summary": "\377\\ud800", "outputs": {"a": "\376", "b": 1, "b": 2}, "structured_artifacts": [{"name": "\377", "type": "t", "payload": {"x": 1, "x": "\\ud800"}}]}' > "$DEED_RESULT_FILE"; printf '\377\376\n'`, code: ExitDone, patch: `fixed`},
	{name: "a result that swells", agent: `echo fixed > main.txt; { printf '{"status": "completed", "machine_status": "ok", "operator_summary": "x", "outputs": {"a": '; yes '[' | head -n 5000 | tr -d '\n'; yes ']' | head -n 5000 | tr -d '\n'; printf '}}'; } > "$DEED_RESULT_FILE"`, code: ExitNotDone, class: "runtime", says: `nested`},
	{name: "a secret in a name", agent: `mkdir -p "$TOKEN" "$DEED_ARTIFACTS/$TOKEN"; echo x | tee "$DEED_ARTIFACTS/$TOKEN/f" > "$TOKEN/f";` + completed, code: ExitNotDone, class: "gate", says: `secret_in_change`},
	{name: "a secret in the change", agent: `echo "$TOKEN" > main.txt; printf %s "$TOKEN" | base64 > b; ln -s "$TOKEN" l;` + completed, code: ExitNotDone, class: "gate", says: `secret_in_change`},
	{name: "a secret in pieces", agent: `printf %s "$TOKEN" | while IFS= read -r -n1 c 2>/dev/null; do printf %s "$c"; done; for i in 1 2 3; do printf %s "$TOKEN" | cut -c1-7 | tr -d '\n'; sleep 0.05; printf %s "$TOKEN" | cut -c8-; done
		printf 'tok%%2B4be1%%2F93a7c0f2d8516e9b tok+4be1\\/93a7c0f2d8516e9b\n'; printf %s "$TOKEN" | base64; printf 'ab%s' "$TOKEN" | base64; printf %s "$TOKEN" | od -An -tx1 -w99 | tr -d ' '; printf %s "$TOKEN" | od -An -tx1 -w99 | tr -d ' ' | tr a-f A-F
		echo fixed > main.txt; printf '{"status": "completed", "machine_status": "ok", "operator_summary": "%s", "outputs": {"\\u0074ok+4be1/93a7c0f2d8516e9b": ["\\u0074ok+4be1/93a7c0f2d8516e9b"]}, "structured_artifacts": [{"name": "n", "type": "t", "payload": "%s"}]}' "$TOKEN" "$TOKEN" > "$DEED_RESULT_FILE"`, code: ExitDone},
	{name: "a secret in a check", agent: `echo 'echo tok+4be1/93a7c0f2d8516e9b; env | grep TOKEN; exit 1' > tool.sh; sed -i "s/tok.*9b/$(printf x)/" tool.sh; echo fixed > main.txt;` + completed, checks: []string{"env; sh tool.sh"}, code: ExitNotDone, class: "gate"},
	{name: "a check that kills", agent: `echo 'kill -9 -1; kill -9 $PPID; kill -9 1' > tool.sh;` + completed, checks: []string{"sh tool.sh"}, code: ExitNotDone, class: "gate", says: `check_failed`},
	{name: "a check that leaves a daemon", agent: `echo 'setsid sh -c "trap \"\" TERM; sleep 300" >/dev/null 2>&1 & true' > tool.sh; echo fixed > main.txt;` + completed, checks: []string{"sh tool.sh"}, code: ExitDone, patch: `fixed`},
	{name: "a check that prepares the next", agent: `cat > tool.sh <<'EOF'
for d in . $HOME /tmp $TMPDIR /var/tmp /dev/shm ../1/tree ../../1/tree ../../1 /workspace /run/deed /run/deed/artifacts $OUT; do mkdir -p "$d" && touch "$d/planted"; done 2>/dev/null
true
EOF
		` + completed, checks: []string{"sh tool.sh", `for d in . $HOME /tmp $TMPDIR /var/tmp /dev/shm .. ../.. /workspace /run/deed; do test ! -e "$d/planted" || exit 1; done`}, code: ExitDone, patch: `planted`},
	{name: "a check that goes out", agent: `cat > tool.sh <<'EOF'
if command -v python3 >/dev/null; then python3 -c 'import socket, os, sys; s = socket.create_connection((sys.argv[1], int(sys.argv[2])), 3); s.sendall(b"out")' ${LISTENER%:*} ${LISTENER#*:} && exit 0; fi
exit 1
EOF
		` + completed, checks: []string{"sh tool.sh"}, code: ExitNotDone, class: "gate", says: `check_failed`},
	{name: "a check that rewrites the verdict", agent: `cat > tool.sh <<'EOF'
for d in $OUT/out/bundle $OUT/home/bundles /run/deed/artifacts ../.. ; do mkdir -p $d/files; echo forged-1b7 > $d/files/test-results.json; done 2>/dev/null
exit 1
EOF
		` + completed, checks: []string{"sh tool.sh"}, code: ExitNotDone, class: "gate", says: `check_failed`, never: `"forged-1b7`},
}

func TestAgentTaskAttacks(t *testing.T) {
	t.Parallel()
	for _, row := range attackRows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			attack(t, row)
		})
	}
}

func attack(t *testing.T, row attackRow) {
	s := newSite(t, map[string]string{"work": row.agent})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for name, text := range map[string]string{
		"user/notes.txt": victim, "forged.json": `{"status": "completed", "machine_status": "ok", "operator_summary": "` + victim + `"}`,
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(s.dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(s.dir, name), text)
	}
	var steps []any
	for _, c := range row.checks {
		steps = append(steps, map[string]any{"shell": c, "env": map[string]string{"OUT": s.dir, "LISTENER": l.Addr().String()}})
	}
	members := map[string]any{"task_timeout_seconds": 60, "secret_env": []string{"TOKEN"}}
	if steps != nil {
		members["verify_steps"] = steps
	}
	s.workRequest(members)
	src := filepath.Join(s.dir, "src")
	if out, err := exec.Command("git", "-C", src, "init", "-q").CombinedOutput(); err != nil {
		t.Skipf("missing tool: git: apt-get install git: %v %s", err, out)
	}
	before := files(t, s.dir)
	q := s.ask([]string{"TOKEN=" + hidden, "HOSTVAR=" + victim}, members)
	env := q.wait(row.code)
	if row.class != "" && env.AgentTaskRunResult.FailureClassification != row.class {
		t.Errorf("classification %q, want %q: %s", env.AgentTaskRunResult.FailureClassification, row.class, env.AgentTaskRunResult.Summary)
	}
	if !regexp.MustCompile(row.says).MatchString(q.out.String()) {
		t.Errorf("the envelope does not say %q: %s", row.says, env.AgentTaskRunResult.Summary)
	}
	s.clean()
	if env.Artifacts != q.bundle {
		t.Fatalf("the bundle is %q: %+v", env.Artifacts, env.Diagnostics)
	}
	bundletest.Check(t, q.bundle)
	patch, err := os.ReadFile(filepath.Join(q.bundle, "files", "patch.diff"))
	if err != nil || !regexp.MustCompile(row.patch).Match(patch) {
		t.Errorf("the patch does not have %q: %v\n%.2000s", row.patch, err, patch)
	}
	secret := anyCase("93a7c0f2d8516e9b", "dG9rKzRiZTEvOTNhN2Mw", "6f6b2b346265312f393361", "va2swRiZTEvOTN", "YWJ0b2srNGJlMS85M2E3")
	for _, dir := range []string{s.home, filepath.Join(s.dir, "out"), q.progress} {
		grep(t, dir, secret)
		if row.never != "" && dir != s.home {
			grep(t, dir, regexp.MustCompile(row.never).FindIndex)
		}
	}
	if secret(q.out.Bytes()) != nil || row.never != "" && regexp.MustCompile(row.never).Match(q.out.Bytes()) {
		t.Errorf("the envelope holds what it must not:\n%s", q.out.String())
	}
	unharmed(t, s, before)
	onTerminal(t, s, q, env)
	if tasks, err := s.open().Tasks(t.Context(), store.TaskFilter{Limit: 10}); err != nil || len(tasks) != 1 {
		t.Errorf("there are %d tasks, %v", len(tasks), err)
	}
}

// unharmed asserts that of the caller's files nothing changed, and that no canary is there.
func unharmed(t *testing.T, s *site, before map[string]string) {
	t.Helper()
	after := files(t, s.dir)
	for name, text := range before {
		if after[name] != text {
			t.Errorf("%s changed", name)
		}
	}
	for name := range after {
		if _, ok := before[name]; !ok && name != "progress.jsonl" {
			t.Errorf("%s was made on the host", name)
		}
	}
}

// files reads the site's directory without deed's own files.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, path)
		switch {
		case err != nil:
			return err
		case d.IsDir() && (rel == "home" || rel == "out"):
			return fs.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		text, err := os.ReadFile(path)
		out[rel] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// grep asserts that no name and no content below a directory matches.
func grep(t *testing.T, dir string, find func([]byte) []int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if m := find(text); m != nil || find([]byte(filepath.Base(path))) != nil {
			at := slices.Concat(m, []int{0, 0})
			t.Errorf("%s holds what it must not: …%.200q", path, text[min(max(0, at[0]-60), len(text)):min(len(text), at[1]+60)])
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// anyCase finds the first of some texts, whatever the case of their letters. Everything that a run left is read for it, and a
// regular expression takes fifty times as long.
func anyCase(texts ...string) func([]byte) []int {
	return func(data []byte) []int {
		data = bytes.ToLower(data)
		for _, text := range texts {
			if i := bytes.Index(data, []byte(strings.ToLower(text))); i >= 0 {
				return []int{i, i + len(text)}
			}
		}
		return nil
	}
}

// onTerminal asserts that no command writes what an agent chose raw to an operator's terminal.
func onTerminal(t *testing.T, s *site, q *asking, env codebox.AgentTaskRun) {
	t.Helper()
	tasks, err := s.open().Tasks(t.Context(), store.TaskFilter{Limit: 1})
	if err != nil || len(tasks) != 1 {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"task", "show", tasks[0].ID()},
		{"task", "list"},
		{"runs", "show", env.RunMetadata.RunID},
		{"runs", "list"},
		{"runs", "artifacts", env.RunMetadata.RunID},
		{"runs", "watch", env.RunMetadata.RunID},
		{"verify", q.bundle},
		{"artifacts", "verify", q.bundle},
		{"apply", q.bundle, "--to", filepath.Join(s.dir, "src"), "--dry-run"},
		{"attempt", "show", tasks[0].ID()},
	} {
		o := s.deed(nil, args...)
		if i := strings.IndexFunc(o.stdout+o.stderr, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 }); i >= 0 {
			t.Errorf("deed %v writes a control character: %.300q", args, (o.stdout + o.stderr)[max(0, i-40):])
		}
		if strings.Contains(o.stdout+o.stderr, "panic") {
			t.Errorf("deed %v: %s", args, o.stderr)
		}
	}
	if i := strings.IndexFunc(q.err.String(), func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' }); i >= 0 {
		t.Errorf("agent-task-run writes a control character to standard error: %.300q", q.err.String()[i:])
	}
}
