package sensor_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/settings"
	"github.com/deedrun/deed/internal/base/config"
	"github.com/deedrun/deed/internal/engine/sensor"
	"github.com/deedrun/deed/internal/store"
)

var job = &settings.SensorTask{TaskType: config.TypeScript, Subject: "${dedupe_key}"}

// due lets the runner do what is due, and returns how many tasks that made.
func (p *place) due() int {
	p.Helper()
	n, err := p.r.Due(p.Context())
	p.ok(err)
	return n
}

// again lets a minute pass and the sensors look.
func (p *place) again() int {
	p.Helper()
	p.clock.Advance(time.Minute)
	return p.due()
}

func (p *place) write(name, text string) {
	p.Helper()
	p.ok(os.MkdirAll(filepath.Dir(name), 0o700))
	p.ok(os.WriteFile(name, []byte(text), 0o600))
}

// payloads are those of the events, newest first.
func (p *place) payloads(name string) []map[string]any {
	p.Helper()
	list, err := p.in.Store.SensorEvents(p.Context(), store.SensorFilter{SensorID: name})
	p.ok(err)
	out := make([]map[string]any, len(list))
	for i, e := range list {
		p.ok(json.Unmarshal(e.Payload, &out[i]))
	}
	return out
}

func sh(script string) []string { return []string{"sh", "-c", script} }

// The output of a command is taken line by line, and a repeated line costs nothing.
func TestCommand(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	list := filepath.Join(p.dir, "list")
	p.in.Config.Sensors = map[string]settings.Sensor{"c": {Kind: settings.SensorCommand, Command: sh("cat " + list), Task: job, MaxEvents: 2}}
	p.write(list, "{\"dedupe_key\": \"a\"}\ngarbage\n{\"sensor_id\": \"c\", \"dedupe_key\": \"b\", \"payload\": {\"x\": 1}}\n{\"dedupe_key\": \"c\"}")
	if n := p.due(); n != 2 {
		t.Fatalf("%d tasks, want as many as a run may bring", n)
	}
	if n := p.due(); n != 0 {
		t.Fatal("it looked before its time")
	}
	if n := p.again(); n != 1 {
		t.Fatalf("%d tasks, want the rest", n)
	}
	x := p.sensor("c")
	if x.Accepted != 3 || x.Malformed < 1 || x.Failures != 0 || x.LastError == "" {
		t.Fatalf("%+v", x)
	}
	p.write(list, "{\"dedupe_key\": \"a\"}\n{\"dedupe_key\": \"b\"}\n{\"dedupe_key\": \"c\"}\n")
	p.again()
	before, at := p.writes(), p.sensor("c")
	for range 5 {
		p.again()
	}
	if after := p.sensor("c"); p.writes() != before || after.Deduped != at.Deduped || !after.OKAt.Equal(at.OKAt) {
		t.Fatalf("an idle sensor writes: %+v, then %+v", at, after)
	}
	for range 10 {
		p.again()
	}
	if after := p.sensor("c"); after.Deduped <= at.Deduped || !after.OKAt.After(at.OKAt) || p.writes() != before {
		t.Fatalf("it says nothing at all: %+v", after)
	}
}

// A sensor that hangs with a child of its own, one that floods, one that fails: each is ended, counted and put off, and the
// sensors that run at the same time keep working.
func TestBadSensorsHarmNobody(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	mark := filepath.Join(p.dir, "alive")
	p.in.Config.Sensors = map[string]settings.Sensor{
		"hangs":  {Kind: settings.SensorCommand, Command: sh("setsid sh -c 'exec 9>" + mark + "; flock 9; exec sleep 600' & trap '' TERM; sleep 600"), TimeoutSeconds: 1, UnhealthyAfterSeconds: 3600},
		"floods": {Kind: settings.SensorCommand, Command: sh(`i=0; while :; do i=$((i+1)); echo "{\"dedupe_key\": \"$i\", \"payload\": {\"pad\": \"` + strings.Repeat("x", 2000) + `\"}}"; done`), MaxEvents: 5, Task: job, TimeoutSeconds: 60},
		"fails":  {Kind: settings.SensorCommand, Command: sh(`echo '{"dedupe_key": "told"}'; echo the disk is gone >&2; exit 3`), Task: job},
		"works":  {Kind: settings.SensorCommand, Command: sh(`echo '{"dedupe_key": "fine"}'`), Task: job},
		"gone":   {Kind: settings.SensorCommand, Command: []string{"/nowhere/at/all"}},
		"secret": {Kind: settings.SensorCommand, Command: sh(`echo "{\"dedupe_key\": \"$TOKEN$OTHER\"}"`), SecretEnv: "TOKEN", Task: job},
	}
	if n := p.due(); n != 8 {
		t.Errorf("%d tasks, want 5 of the flood, one each of those that fail, work and have a secret", n)
	}
	for name, want := range map[string]string{"hangs": "longer than 1s", "floods": "more than one run", "fails": "exit 3: the disk is gone", "gone": "/nowhere/at/all", "works": "", "secret": ""} {
		x := p.sensor(name)
		if (x.Failures == 1) != (want != "") || !strings.Contains(x.LastError, want) {
			t.Errorf("%s: %+v", name, x)
		}
	}
	if err := exec.Command("flock", "-n", mark, "true").Run(); err != nil {
		t.Errorf("what hung is still there: %v", err)
	}
	next, ok, err := p.r.Next(t.Context())
	if err != nil || !ok || !next.Equal(p.clock.Now().Add(time.Minute)) {
		t.Errorf("next %v %v %v", next, ok, err)
	}
	p.clock.Advance(time.Minute)
	p.due()
	if x := p.sensor("gone"); x.Failures != 2 {
		t.Fatalf("%+v", x)
	}
	p.clock.Advance(time.Minute)
	p.due()
	if x := p.sensor("gone"); x.Failures != 2 {
		t.Errorf("it is not put off: %+v", x)
	}
	// After long enough a person is asked, and not any more when it is well again.
	p.clock.Advance(2 * time.Hour)
	p.due()
	x := p.sensor("gone")
	act, err := p.in.Store.Action(t.Context(), x.ActionID)
	p.ok(err)
	if act.Owner != "sensor/gone" || !strings.Contains(act.Prompt, "gone has failed 3 times") {
		t.Fatalf("%+v", act)
	}
	p.in.Config.Sensors["gone"] = settings.Sensor{Kind: settings.SensorCommand, Command: []string{"true"}}
	p.clock.Advance(2 * time.Hour)
	p.due()
	act, err = p.in.Store.Action(t.Context(), x.ActionID)
	p.ok(err)
	if act.State != store.ActionDismissed || p.sensor("gone").Failures != 0 {
		t.Fatalf("%+v", act)
	}
}

// Short lines cost more than their bytes: a run, and a document, has a bound on how many it may have.
func TestVeryManyEvents(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	p.in.Config.Sensors = map[string]settings.Sensor{"babbles": {Kind: settings.SensorCommand, Command: sh("exec yes '{}'"), Task: job, TimeoutSeconds: 600}}
	p.due()
	if x := p.sensor("babbles"); x.Failures != 1 || x.Malformed != 100_000 || !strings.Contains(x.LastError, "more than 100000 events") {
		t.Errorf("%+v", x)
	}
	const n = 200_000
	for _, text := range []string{strings.Repeat("{}\n", n), "[" + strings.Repeat("{},", n-1) + "{}]"} {
		reads := sensor.ReadAll([]byte(text), sensor.Defaults{SensorID: "s", Now: p.clock.Now()})
		if len(reads) != 100_001 || !strings.Contains(reads[100_000].Err.Error(), "in parts") {
			t.Errorf("%.4q: %d events, the last %v", text, len(reads), reads[len(reads)-1].Err)
		}
	}
}

// A command that watches is read while it lives, waits when it prints too much, and is ended with the runner.
func TestWatch(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	woken := make(chan struct{}, 100)
	p.r.Wake = func() { woken <- struct{}{} }
	p.in.Config.Sensors = map[string]settings.Sensor{"w": {Kind: settings.SensorCommand, Watch: true, Command: sh(`for i in 1 2 3; do echo "{\"dedupe_key\": \"$i\"}"; done; sleep 600`), Task: job, MaxEvents: 2, EverySeconds: 3600}}
	if n := p.due(); n != 0 {
		t.Fatal("it cannot be watched without somebody who stays")
	}
	stop := p.r.Start(t.Context())
	p.due()
	for range 1200 { // at most a minute
		if p.sensor("w").Accepted == 2 {
			break
		}
		select {
		case <-woken:
		case <-time.After(50 * time.Millisecond):
		}
	}
	if x := p.sensor("w"); x.Accepted != 2 {
		t.Fatalf("%+v", x)
	}
	if _, ok, _ := p.r.Next(t.Context()); ok {
		t.Error("it is under way, and due")
	}
	stop()
	if x := p.sensor("w"); x.Failures != 0 || x.Accepted != 2 {
		t.Errorf("to be told to stop is no failure: %+v", x)
	}
}

// A sensor that ran in the background and saw nothing is due again after its interval. The dispatcher may have asked for the next
// time while the sensor ran, so it is woken at the end of the run.
func TestNothingSeenIsLookedForAgain(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]settings.Sensor{"c": {Kind: settings.SensorCommand, Command: sh("true"), Task: job, EverySeconds: 10}})
	woken := make(chan struct{}, 1)
	p.r.Wake = func() { woken <- struct{}{} }
	stop := p.r.Start(t.Context())
	defer stop()
	for range 3 {
		p.due()
		select {
		case <-woken:
		case <-time.After(time.Minute):
			t.Fatal("the dispatcher was not woken")
		}
		at, ok, err := p.r.Next(t.Context())
		if err != nil || !ok || !at.Equal(p.clock.Now().Add(10*time.Second)) {
			t.Fatalf("due again at %v (%v, %v)", at, ok, err)
		}
		p.clock.Advance(10 * time.Second)
	}
}

func TestGit(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	repo := filepath.Join(p.dir, "repo")
	git := func(args ...string) string {
		t.Helper()
		c := exec.Command("git", append([]string{"-C", repo, "-c", "user.name=t", "-c", "user.email=t@example.org"}, args...)...)
		c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	p.ok(os.MkdirAll(repo, 0o700))
	git("init", "-q", "-b", "main")
	git("commit", "-q", "--allow-empty", "-m", "one")
	p.in.Config.Sensors = map[string]settings.Sensor{
		"path": {Kind: settings.SensorGit, Repository: repo, Refs: []string{"refs/heads/*"}, Task: job},
		"url":  {Kind: settings.SensorGit, Repository: "file://" + repo, Task: job, FromStart: true},
	}
	if n := p.due(); n != 1 {
		t.Fatalf("%d tasks, want that of from_start", n)
	}
	first := git("rev-parse", "HEAD")
	git("commit", "-q", "--allow-empty", "-m", "two")
	git("commit", "-q", "--allow-empty", "-m", "three")
	git("branch", "side")
	if n := p.again(); n != 3 {
		t.Fatalf("%d tasks, want one for each new tip", n)
	}
	if got := p.payloads("path")[1]; got["ref"] != "refs/heads/main" || got["commit"] != git("rev-parse", "HEAD") || got["previous_commit"] != first {
		t.Fatalf("%+v", got)
	}
	git("reset", "-q", "--hard", first)
	git("commit", "-q", "--allow-empty", "-m", "another history")
	git("branch", "-q", "-D", "side")
	if n := p.again(); n != 2 {
		t.Fatalf("%d tasks after a history was written anew", n)
	}
	before, at := p.writes(), p.sensor("path")
	if n := p.again(); n != 0 || p.writes() != before || p.sensor("path").Version != at.Version {
		t.Fatal("nothing is new, and something was written")
	}
	p.ok(os.Rename(repo, repo+".away"))
	p.again()
	if x := p.sensor("path"); x.Failures != 1 || x.LastError == "" {
		t.Fatalf("%+v", x)
	}
	p.ok(os.Rename(repo+".away", repo))
	if p.again(); p.sensor("path").Failures != 0 {
		t.Fatalf("%+v", p.sensor("path"))
	}
}

func TestDirectory(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	in, inbox, away := filepath.Join(p.dir, "in"), filepath.Join(p.dir, "inbox"), filepath.Join(p.dir, "away")
	p.write(filepath.Join(in, "old.txt"), "old")
	p.write(filepath.Join(inbox, "first.txt"), "1")
	p.in.Config.Sensors = map[string]settings.Sensor{
		"d": {Kind: settings.SensorDirectory, Directory: in, Pattern: "*.txt", Task: job, MaxEvents: 2},
		"m": {Kind: settings.SensorDirectory, Directory: inbox, MoveTo: away, Task: job},
	}
	if n := p.due(); n != 1 {
		t.Fatalf("%d tasks, want that of the file that is moved", n)
	}
	if _, err := os.Stat(filepath.Join(away, "first.txt")); err != nil {
		t.Fatal(err)
	}
	for _, n := range []string{"a.txt", "b.txt", "c.txt", "d.dat", ".e.txt"} {
		p.write(filepath.Join(in, n), n)
	}
	p.ok(os.Symlink("/etc/passwd", filepath.Join(in, "link.txt")))
	if a, b := p.again(), p.again(); a != 2 || b != 1 {
		t.Fatalf("%d and %d tasks, want two and the rest", a, b)
	}
	// Touched is not changed; changed back is.
	later := time.Now().Add(time.Hour)
	p.ok(os.Chtimes(filepath.Join(in, "a.txt"), later, later))
	if n := p.again(); n != 0 {
		t.Fatalf("%d tasks for a file that was touched", n)
	}
	for i, text := range []string{"new", "a.txt"} {
		p.write(filepath.Join(in, "a.txt"), text)
		p.ok(os.Chtimes(filepath.Join(in, "a.txt"), later, later.Add(time.Duration(i+1)*time.Second)))
		if n := p.again(); n != 1 {
			t.Fatalf("%d tasks for a file that changed to %q", n, text)
		}
	}
	before, at := p.writes(), p.sensor("d")
	if n := p.again(); n != 0 || p.writes() != before || p.sensor("d").Version != at.Version {
		t.Fatal("nothing is new, and something was written")
	}
	p.write(filepath.Join(inbox, "first.txt"), "1") // the name comes again
	if n := p.again(); n != 1 {
		t.Fatalf("%d tasks for a second file of the name", n)
	}
	p.ok(os.RemoveAll(in))
	p.again()
	if x := p.sensor("d"); x.Failures != 1 {
		t.Fatalf("%+v", x)
	}
}

func TestMailbox(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	box := filepath.Join(p.dir, "box")
	p.in.Config.Sensors = map[string]settings.Sensor{"m": {Kind: settings.SensorMailbox, Directory: box, Task: job, MaxEvents: 3}}
	p.write(filepath.Join(box, "1.json"), `{"dedupe_key": "one"}`)
	p.write(filepath.Join(box, "2.jsonl"), "{\"dedupe_key\": \"two\"}\n{\"dedupe_key\": \"three\"}\n")
	p.write(filepath.Join(box, "3.json"), `{"specversion": "1.0", "id": "4", "source": "s", "type": "t"}`)
	p.write(filepath.Join(box, "4.json"), `{"dedupe_key": `)
	p.write(filepath.Join(box, ".taken", "0.json"), `{"dedupe_key": "one"}`) // a crash left it
	if n := p.due(); n != 3 {
		t.Fatalf("%d tasks", n)
	}
	if n := p.again(); n != 1 {
		t.Fatalf("%d tasks of the rest", n)
	}
	for _, f := range []string{".done/0.json", ".done/1.json", ".done/2.jsonl", ".done/3.json", ".refused/4.json", ".refused/4.json.why"} {
		if _, err := os.Stat(filepath.Join(box, f)); err != nil {
			t.Error(err)
		}
	}
	if x := p.sensor("m"); x.Accepted != 4 || x.Deduped != 1 || x.Malformed != 1 || x.Failures != 0 {
		t.Errorf("%+v", x)
	}
}

func TestHTTP(t *testing.T) {
	t.Parallel()
	var body, etag atomic.Value
	var asked, unchanged, status atomic.Int64
	body.Store(`{"n": 1}`)
	etag.Store(`"1"`)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.Header.Get("Authorization") != "Bearer sesame" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if n := status.Load(); n != 0 {
			w.WriteHeader(int(n))
			return
		}
		w.Header().Set("ETag", etag.Load().(string))
		if r.Header.Get("If-None-Match") == etag.Load() {
			unchanged.Add(1)
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = w.Write([]byte(body.Load().(string)))
	}))
	t.Cleanup(srv.Close)
	p := newPlace(t, nil)
	p.in.Config.Sensors = map[string]settings.Sensor{"h": {Kind: settings.SensorHTTP, URL: srv.URL, SecretEnv: "TOKEN", Task: job}}
	set := func(b, e string) { body.Store(b); etag.Store(e) }
	for i, c := range []struct {
		body, etag string
		want       int
	}{
		{`{"n": 1}`, `"1"`, 0}, // the first look
		{`{"n": 1}`, `"1"`, 0}, // unchanged by its tag
		{`{"n": 2}`, `"2"`, 1},
		{`{"n": 2}`, `"3"`, 0}, // another tag, the same text
		{`{"n": 1}`, `"4"`, 1}, // and back again
		{"plain", `"5"`, 1},
	} {
		set(c.body, c.etag)
		if n := p.again(); n != c.want {
			t.Fatalf("look %d: %d tasks, want %d", i+1, n, c.want)
		}
	}
	if got := p.payloads("h"); got[0]["text"] != "plain" || fmt.Sprint(got[1]["body"]) != "map[n:1]" {
		t.Errorf("%+v", got)
	}
	if unchanged.Load() != 1 {
		t.Errorf("%d answers were 304", unchanged.Load())
	}
	status.Store(http.StatusFound)
	p.again()
	if x := p.sensor("h"); x.Failures != 1 || !strings.Contains(x.LastError, "302") {
		t.Errorf("%+v", x)
	}
	status.Store(0)
	set(strings.Repeat("x", 9<<20), `"6"`)
	p.again()
	if x := p.sensor("h"); x.Failures != 2 || !strings.Contains(x.LastError, "more than one run") {
		t.Errorf("%+v", x)
	}
	// Events in the answer, more than one run may bring: the rest is asked for again.
	p.in.Config.Sensors["h"] = settings.Sensor{Kind: settings.SensorHTTP, URL: srv.URL, SecretEnv: "TOKEN", Task: job, Events: true, MaxEvents: 2}
	set(`[{"dedupe_key": "a"}, {"dedupe_key": "b"}, {"dedupe_key": "c"}]`, `"7"`)
	p.clock.Advance(time.Hour)
	if n := p.due(); n != 2 {
		t.Fatalf("%d tasks", n)
	}
	p.clock.Advance(time.Hour)
	if n := p.due(); n != 1 {
		t.Fatalf("%d tasks of the rest", n)
	}
}

// A sensor that is switched off neither looks nor sends, and continues when it is switched on.
func TestDisabled(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	p.in.Config.Sensors = map[string]settings.Sensor{"c": {Kind: settings.SensorCommand, Command: sh(`echo '{"dedupe_key": "a"}'`), Task: job}}
	_, err := p.in.Store.EnableSensor(t.Context(), "c", false, "me")
	p.ok(err)
	if n := p.due(); n != 0 {
		t.Fatal("it looked")
	}
	if _, err := p.in.Take(t.Context(), p.event("1", "x", func(e *agentruntime.SensorEvent) { e.SensorID = "c" })); err == nil || sensor.Refused(err) {
		t.Fatalf("%v", err)
	}
	_, err = p.in.Store.EnableSensor(t.Context(), "c", true, "me")
	p.ok(err)
	if n := p.again(); n != 1 {
		t.Fatalf("%d tasks", n)
	}
	if _, err := p.r.Once(context.Background(), "nope"); err == nil {
		t.Fatal("it ran what is not there")
	}
	if rep, err := p.r.Once(t.Context(), "c"); err != nil || rep.Deduped != 1 {
		t.Fatalf("%+v %v", rep, err)
	}
}
