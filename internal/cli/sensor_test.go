package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/base/crashpoint"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/store/pgtest"
)

// sensorSite is a site with three sensors that see three things each.
func sensorSite(t *testing.T) *site {
	t.Helper()
	s := newSite(t, map[string]string{"work": "exit 0"})
	file := filepath.Join(s.dir, "deed.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, file, strings.Replace(string(text), "lease_seconds: 30", "lease_seconds: 30, adapter_id: work", 1)+`
sensors:
  box:   {kind: mailbox, directory: box, task: {task_type: script, subject: "${dedupe_key}"}}
  files: {kind: directory, directory: files, move_to: moved, task: {task_type: script, subject: "${payload.name}"}}
  lines: {kind: command, command: [cat, `+s.dir+`/lines], task: {task_type: script}}
  sent:  {kind: push, task: {task_type: script}}
`)
	lines := ""
	for i := range 3 {
		one := fmt.Sprintf("{\"dedupe_key\": \"%d\"}\n", i)
		for _, d := range []string{"box", "files"} {
			if err := os.MkdirAll(filepath.Join(s.dir, d), 0o700); err != nil {
				t.Fatal(err)
			}
			writeFile(t, filepath.Join(s.dir, d, fmt.Sprintf("%d.json", i)), one)
		}
		lines += one
	}
	writeFile(t, filepath.Join(s.dir, "lines"), lines)
	return s
}

// TestSensorCrash kills the real binary at each step of taking events, runs it again, and asserts that every event was handled
// once.
func TestSensorCrash(t *testing.T) {
	t.Parallel()
	commands := map[string][]string{
		"box": {"sensor", "run", "box"}, "files": {"sensor", "run", "files"}, "lines": {"sensor", "run", "lines"},
		"sent": {"sensor", "emit", "--sensor", "sent", "--file", "lines"},
	}
	for _, engine := range []string{store.SQLite, store.Postgres} {
		for _, p := range crashpoint.OfSensor {
			for name, args := range commands {
				nth := "#1"
				if name == "box" || name == "sent" { // one after the other
					nth = "#2"
				}
				if name == "sent" && p == crashpoint.SensorLooked || engine == store.Postgres && name == "lines" {
					continue
				}
				t.Run(engine+"/"+name+"/"+string(p), func(t *testing.T) {
					t.Parallel()
					s := sensorSite(t)
					if engine == store.Postgres {
						s.dsn = pgtest.DSN(t)
					}
					if o := s.deed([]string{"DEED_CRASHPOINT=" + string(p) + nth}, args...); o.signal != syscall.SIGKILL {
						t.Fatalf("the crash point was not reached: %+v", o)
					}
					s.ok(args...)
					s.ok(args...)
					st := s.open()
					n, err := st.Counts(t.Context())
					if err != nil || n[agentruntime.TaskPending] != 3 || len(n) != 1 {
						t.Errorf("tasks %v, %v, want three", n, err)
					}
					x, err := st.Sensor(t.Context(), name)
					if err != nil || x.Accepted != 3 || x.Malformed != 0 {
						t.Errorf("%+v %v", x, err)
					}
					for _, d := range []string{name, name + "/.taken"} {
						if list, err := filepath.Glob(filepath.Join(s.dir, d, "*.json")); err != nil || len(list) > 0 {
							t.Errorf("left where they were: %v %v", list, err)
						}
					}
					s.noProcess()
					s.tidy()
				})
			}
		}
	}
}

// TestSensorsServe lets the dispatcher look, and looks at what an operator sees.
func TestSensorsServe(t *testing.T) {
	t.Parallel()
	s := sensorSite(t)
	s.ok("dispatch")
	n, err := s.open().Counts(t.Context())
	if err != nil || n[agentruntime.TaskCompleted] != 9 {
		t.Fatalf("%v %v", n, err)
	}
	for _, c := range []struct {
		code int
		args []string
		want string
	}{
		{0, []string{"sensor", "list"}, "box     mailbox    ok     3"},
		{0, []string{"sensor", "show", "files"}, "3 accepted, 0 deduped, 0 late, 0 refused"},
		{0, []string{"sensor", "events", "lines", "--json"}, `"dedupe_key": "2"`},
		{0, []string{"sensor", "disable", "box"}, ""},
		{2, []string{"sensor", "emit", "--sensor", "box", "--file", "lines"}, ""},
		{0, []string{"sensor", "list", "--json"}, `"enabled": false`},
		{0, []string{"sensor", "enable", "box"}, ""},
		{0, []string{"sensor", "emit", "--sensor", "sent", "--file", "lines", "--json"}, `"status": "accepted"`},
		{1, []string{"sensor", "emit", "--file", "lines"}, "$.sensor_id"},
		{2, []string{"sensor", "emit", "--file", "nothing"}, ""},
		{2, []string{"sensor", "emit"}, ""},
		{2, []string{"sensor", "run", "sent"}, ""},
		{2, []string{"sensor", "show", "nope"}, ""},
		{0, []string{"sensor", "run", "lines", "--json"}, `"deduped": 3`},
	} {
		if o := s.deed(nil, c.args...); o.code != c.code || !strings.Contains(o.stdout, c.want) {
			t.Errorf("%v: exit %d, want %d with %q\n%s%s", c.args, o.code, c.code, c.want, o.stdout, o.stderr)
		}
	}
	s.tidy()
}

// TestSensorSettings says all that is wrong with the settings of a sensor.
func TestSensorSettings(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	writeFile(t, filepath.Join(s.dir, "deed.yaml"), `
sensors:
  a: {kind: nope}
  b: {kind: git, command: [x]}
  c: {kind: http, url: "ftp://x", refs: [-x]}
  d: {kind: directory, directory: d, pattern: "[", task: {task_type: " "}}
`)
	o := s.deed(nil, "sensor", "list")
	for _, want := range []string{"$.sensors.a.kind", "$.sensors.b.command", "$.sensors.b.repository", "$.sensors.c.url", "$.sensors.c.refs", "$.sensors.d.pattern", "$.sensors.d.task.task_type"} {
		if o.code != 2 || !strings.Contains(o.stderr, want) {
			t.Errorf("exit %d, %s is not named:\n%s", o.code, want, o.stderr)
		}
	}
}

// TestSensorCommandsRun runs what docs/SENSORS.md shows.
func TestSensorCommandsRun(t *testing.T) {
	t.Parallel()
	out := runBlocks(t, "docs/SENSORS.md", 4)
	for _, want := range []string{"1 accepted", "1 deduped", "2 accepted, 0 deduped, 0 late, 0 refused", "mail     push", "build.failed"} {
		if !strings.Contains(out, want) {
			t.Errorf("output lacks %q:\n%s", want, out)
		}
	}
}
