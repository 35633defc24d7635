package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/base/home"
	deedserver "github.com/deedrun/deed/internal/web/server"
)

// post adds a task through the running server, whose settings admit it. It returns the id, or the status and what was answered.
func (v *served) post(key, adapter string) (id string, code int, body string) {
	v.t.Helper()
	in, _ := json.Marshal(map[string]any{"tasks": []any{map[string]any{"task_type": "script", "source": "t", "requested_adapter_id": adapter, "payload": map[string]any{}}}})
	req, err := http.NewRequestWithContext(v.t.Context(), http.MethodPost, "http://deed/api/v1/tasks", bytes.NewReader(in))
	if err != nil {
		v.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", key)
	resp, err := deedserver.Client(home.At(v.home)).Do(req)
	if err != nil {
		v.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var b bytes.Buffer
	if _, err := b.ReadFrom(resp.Body); err != nil {
		v.t.Fatal(err)
	}
	_, rest, _ := strings.Cut(b.String(), `"task_id":"`)
	id, _, _ = strings.Cut(rest, `"`)
	return id, resp.StatusCode, b.String()
}

// TestServeReloads changes deed.yaml under a running server: what it adds takes effect in the queue, in sensors and over HTTP, a running
// attempt continues, and settings that cannot be used change nothing and are named.
func TestServeReloads(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{
		"gated": `echo up > "$OUT/up"; while [ ! -e "$OUT/go" ]; do sleep 0.05; done; exit 0`,
		"fresh": "exit 0",
	})
	if err := os.Mkdir(filepath.Join(s.dir, "inbox"), 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(s.dir, "deed.yaml")
	read, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	full := string(read)
	var kept []string
	for line := range strings.Lines(full) {
		if !strings.HasPrefix(line, "  fresh:") {
			kept = append(kept, line)
		}
	}
	writeFile(t, file, strings.Join(kept, ""))
	if o := s.deed(nil, "reload"); o.code == 0 || !strings.Contains(o.stderr, "deed serve") {
		t.Errorf("without a server: exit %d, %s", o.code, o.stderr)
	}
	v := s.serve("--concurrency", "2")
	st := s.open()
	runs, code, body := v.post("a", "gated")
	if runs == "" {
		t.Fatalf("add a task: %d %s", code, body)
	}
	s.until("the agent runs", func() bool { _, err := os.Stat(filepath.Join(s.dir, "up")); return err == nil })
	if _, code, body := v.post("b", "fresh"); code < 400 || !strings.Contains(body, "fresh") {
		t.Fatalf("an adapter that is not there: %d %s", code, body)
	}

	full += "sensors:\n  inbox: {kind: directory, directory: inbox, every_seconds: 1, task: {task_type: script, adapter_id: fresh, subject: \"${payload.name}\"}}\n"
	writeFile(t, file, full)
	v.signal(syscall.SIGHUP)
	s.until("the settings are reloaded", func() bool { return strings.Contains(v.said(), "settings reloaded") })
	id, code, body := v.post("c", "fresh")
	if id == "" {
		t.Fatalf("the new adapter: %d %s", code, body)
	}
	s.until("a task of the new adapter is done", func() bool { return status(t, st, id) == agentruntime.TaskCompleted })
	writeFile(t, filepath.Join(s.dir, "inbox", "letter.txt"), "x")
	s.until("the new sensor makes a task", func() bool { return strings.Contains(s.ok("task", "list"), "letter.txt") })
	if got := status(t, st, runs); got != agentruntime.TaskRunning {
		t.Errorf("the attempt that ran is %s", got)
	}

	for i, bad := range []struct{ text, names string }{
		{full + "adaptors: {}\n", "adaptors"},
		{full + "database: " + filepath.Join(s.dir, "other.db") + "\n", filepath.Join(s.dir, "other.db")},
		{full + "database: postgres://deed:hunter22@db.example/work?password=hunter22\n", `"postgres://db.example/work"`},
		{full + "notify: [{on: [noon], to: bell}]\nagents: {}\n", "\n      " + file},
		{"adapters: [\n", file},
	} {
		writeFile(t, file, bad.text)
		o := s.deed(nil, "reload")
		if o.code != ExitUsage || !strings.Contains(o.stderr, bad.names) || !strings.Contains(o.stderr, "old settings stay in force") {
			t.Errorf("%q: exit %d, %s", bad.names, o.code, o.stderr)
		}
		id, code, body := v.post(fmt.Sprint("d", i), "fresh")
		if id == "" {
			t.Fatalf("the old settings: %d %s", code, body)
		}
		s.until("a task is done with the old settings", func() bool { return status(t, st, id) == agentruntime.TaskCompleted })
	}
	if !strings.Contains(v.said(), "the old ones stay in force") {
		t.Errorf("nothing is said of bad settings:\n%s", v.said())
	}
	if strings.Contains(v.said(), "hunter22") {
		t.Errorf("the log has a password:\n%s", v.said())
	}

	writeFile(t, file, strings.Replace(full, "lease_seconds: 30", "lease_seconds: 40, ageing_seconds: 60", 1))
	if o := s.deed(nil, "reload"); o.code != 0 || !strings.Contains(o.stdout, file) || !strings.Contains(o.stderr, "ageing_seconds takes effect when deed serve is started anew") {
		t.Errorf("%s%s", o.stdout, o.stderr)
	}
	if o := s.deed(nil, "reload", "--json"); !strings.Contains(o.stdout, `"schema": "deed/reload/v1"`) || !strings.Contains(o.stdout, "$.defaults.ageing_seconds") {
		t.Errorf("a second time, when it still waits for the next start: %s", o.stdout)
	}
	writeFile(t, file, full)
	if o := s.deed(nil, "reload", "--json"); o.code != 0 || strings.Contains(o.stdout, "restart") {
		t.Errorf("as it was at the start: %s%s", o.stdout, o.stderr)
	}
	writeFile(t, filepath.Join(s.dir, "go"), "")
	s.until("the attempt that ran is done", func() bool { return status(t, st, runs) == agentruntime.TaskCompleted })
	v.signal(syscall.SIGTERM)
	if code := v.wait(); code != 0 {
		t.Errorf("exit %d:\n%s", code, v.said())
	}
	s.noProcess()
}
