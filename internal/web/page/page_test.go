package page_test

import (
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/web/access"
)

// paths are all views of a furnished room.
func (f furnished) paths() []string {
	out := []string{"/", "/tasks", "/tasks?status=completed", "/actions", "/actions?all=1", "/actions/" + f.action, "/workflows", "/workflows/" + f.flow, "/workflows/definitions/goal-loop", "/schedules", "/sensors", "/outbox", "/fleet", "/usage", "/search?q=parser"}
	for _, id := range []string{f.proven, f.refused, f.running, f.blocked, f.retried, f.queued} {
		for _, part := range []string{"", "/diff", "/diff?view=split", "/journal", "/journal?all=1", "/logs", "/brief", "/usage", "/bundle"} {
			out = append(out, "/tasks/"+id+part)
		}
	}
	return out
}

func TestEveryViewRenders(t *testing.T) {
	t.Parallel()
	r := enter(t)
	f := r.furnish()
	for _, role := range []access.Role{access.Operate, access.Read} {
		r.as(role)
		for _, path := range f.paths() {
			status, doc := r.get(path)
			if status != http.StatusOK {
				t.Errorf("%s: %d\n%s", path, status, doc)
			}
			if !strings.Contains(doc, "<h1") || !strings.Contains(doc, "</html>") || strings.Contains(doc, "ZgotmplZ") || strings.Contains(doc, " style=") {
				t.Errorf("%s is not a whole page, or holds what the policy forbids", path)
			}
			if role == access.Read && strings.Count(doc, `method="post"`) != 1 { // to log out
				t.Errorf("%s offers a write to a reader", path)
			}
		}
	}
}

func TestAnEmptyHomeHelps(t *testing.T) {
	t.Parallel()
	r := enter(t)
	for path, want := range map[string]string{
		"/": "No agent works at the moment", "/tasks": "There is no task yet", "/actions": "Nothing waits for you", "/workflows": "deed workflow start", "/schedules": "deed schedule add",
		"/sensors": "No sensor is configured", "/outbox": "Nothing waits to be delivered", "/fleet": "deed serve", "/usage": "Nothing was used", "/search?q=x": "Nothing was found",
	} {
		if status, doc := r.get(path); status != http.StatusOK || !strings.Contains(doc, want) {
			t.Errorf("%s: %d, without %q", path, status, want)
		}
	}
}

func TestWhatIsThere(t *testing.T) {
	t.Parallel()
	r := enter(t)
	f := r.furnish()
	for _, c := range []struct {
		path string
		want []string
	}{
		{"/", []string{"Add a dark theme", "npm test -- settings", "Waiting for you", "git push origin", "Make Mean return fractions", "claimed_not_changed", "$1.72", "of $2.00"}},
		{"/tasks/" + f.refused, []string{"All 14 tests pass", "not changed", "not claimed", "protected_path", "check_failed", "claimed_not_changed", "3 vanished", "TestMedian", "11 tests", "14 tests", "want 1.5", "Retry"}},
		{"/tasks/" + f.proven, []string{"Accepted", "1 mended", "TestMean", "Apply the change", "/srv/stats"}},
		{"/tasks/" + f.retried, []string{"Attempts, side by side", "Attempt 1", "Attempt 2"}},
		{"/tasks/" + f.running, []string{"Cancel", "it stands here"}},
		{"/tasks/" + f.blocked, []string{"Approve always", "Deny", "ask-before-push", "shell.run"}},
		{"/tasks/" + f.proven + "/diff", []string{`class="add"`, `class="del"`, `<span class="k">return</span>`, `<span class="c">// The division`}},
		{"/tasks/" + f.proven + "/diff?view=split", []string{`class="diff split"`}},
		{"/tasks/" + f.proven + "/journal", []string{"says it is done", "accepted", "refused", "1 replacement", "because"}},
		{"/tasks/" + f.proven + "/brief", []string{strings.Repeat("98", 32), "Change files only under"}},
		{"/tasks/" + f.proven + "/logs", []string{"ok  example.com/stats"}},
		{"/tasks/" + f.proven + "/bundle?verify=1", []string{"Invalid"}},
		{"/workflows/" + f.flow, []string{"<svg", `class="state now"`, "abandon"}},
		{"/schedules", []string{"nightly-review", "in 8h 59m"}},
		{"/sensors", []string{"ci-builds", "failing", "connection refused"}},
		{"/fleet", []string{"build-1:4711"}},
		{"/usage", []string{"gpt-6-codex"}},
		{"/search?q=PARSER", []string{"Speed the parser"}},
	} {
		_, doc := r.get(c.path)
		for _, w := range c.want {
			if !strings.Contains(doc, w) && !strings.Contains(doc, strings.ReplaceAll(w, "+", "&#43;")) {
				t.Errorf("%s: without %q", c.path, w)
			}
		}
	}
}

func TestSearchFindsIDs(t *testing.T) {
	t.Parallel()
	r := enter(t)
	f := r.furnish()
	for q, want := range map[string]string{f.proven: "Make Mean", f.action: "git push", f.flow: "release-0.8"} {
		if status, doc := r.get("/search?q=" + q); status != http.StatusOK || !strings.Contains(doc, want) {
			t.Errorf("%s: %d, without %q", q, status, want)
		}
	}
}

// A search says where it ended, and leads on to what is older until it has seen all.
func TestSearchGoesOn(t *testing.T) {
	t.Parallel()
	r := enter(t)
	var list []store.NewTask
	for i := range 5130 { // the oldest ones match, and the newest do not
		subject := "something else"
		if i < 120 {
			subject = fmt.Sprintf("needle %d", i)
		}
		list = append(list, store.NewTask{Intent: agentruntime.TaskIntent{TaskType: "t", Source: "s", Subject: subject, Payload: json.RawMessage(`{}`)}, MaxAttempts: 1})
	}
	if _, err := r.st.Enqueue(t.Context(), list...); err != nil {
		t.Fatal(err)
	}
	next := regexp.MustCompile(`rel="next" href="([^"]+)"`)
	path, hits := "/search?q=NEEDLE", []int{}
	for range 10 {
		status, doc := r.get(path)
		if status != http.StatusOK {
			t.Fatalf("%s: %d", path, status)
		}
		hits = append(hits, strings.Count(doc, ">needle "))
		m := next.FindStringSubmatch(doc)
		if m == nil {
			break
		}
		if !strings.Contains(doc, "tasks were looked through") {
			t.Errorf("%s does not say where it ended", path)
		}
		path = html.UnescapeString(m[1])
	}
	if fmt.Sprint(hits) != "[0 100 20]" {
		t.Errorf("found %v, want [0 100 20]", hits)
	}
	if status, _ := r.get("/search?q=needle&before=" + store.NewID()); status != http.StatusNotFound {
		t.Errorf("behind a task that is not there: %d", status)
	}
}

func TestBadAddresses(t *testing.T) {
	t.Parallel()
	r := enter(t)
	f := r.furnish()
	for path, want := range map[string]int{
		"/nowhere": 404, "/tasks/0123456": 404, "/tasks/..%2f..%2fetc": 404, "/tasks/" + f.proven + "/nothing": 404, "/tasks/" + f.proven + "?attempt=ffffffff": 404,
		"/tasks/" + f.proven + "/diff?file=99": 404, "/tasks/" + f.proven + "/diff?file=-1": 404, "/tasks/" + f.proven + "/diff?file=0&from=9999": 404, "/tasks/" + f.proven + "/diff?file=x": 404,
		"/tasks?status=weird": 422, "/outbox?state=weird": 422, "/actions/000000": 404, "/workflows/000000": 404, "/workflows/definitions/none": 404, "/static/x/../page.go": 404, "/static/x/none.css": 404,
		"/tasks/" + f.proven + "/journal?from=x": 422,
	} {
		if status, _ := r.get(path); status != want {
			t.Errorf("%s: %d, want %d", path, status, want)
		}
	}
}

func TestWrites(t *testing.T) {
	t.Parallel()
	r := enter(t)
	f := r.furnish()
	status := func(id string) agentruntime.TaskStatus {
		x, err := r.st.Task(t.Context(), id)
		r.ok(err)
		return x.Record.Status
	}
	for _, c := range []struct {
		path, form string
		code       int
		after      func() bool
	}{
		{"/actions/" + f.action, "say=text&text=go", 422, func() bool { return status(f.blocked) == agentruntime.TaskBlocked }},
		{"/actions/" + f.action, "", 422, func() bool { return status(f.blocked) == agentruntime.TaskBlocked }},
		{"/actions/" + f.action, "say=approve&note=once&back=/tasks", 200, func() bool {
			x, err := r.st.Action(t.Context(), f.action)
			return err == nil && x.AnsweredBy == "ada" && strings.Contains(string(x.Answer), "once") && status(f.blocked) == agentruntime.TaskPending
		}},
		{"/actions/" + f.action, "say=deny", 409, func() bool { return true }},
		{"/tasks/" + f.refused + "/resume", "", 422, func() bool { return status(f.refused) == agentruntime.TaskPermanentFailure }},
		{"/tasks/" + f.refused + "/retry", "", 200, func() bool { return status(f.refused) == agentruntime.TaskPending }},
		{"/tasks/" + f.refused + "/cancel", "", 200, func() bool { return status(f.refused) == agentruntime.TaskOperatorCanceled }},
		{"/tasks/" + f.refused + "/cancel", "", 409, func() bool { return true }},
		{"/tasks/" + f.proven + "/retry", "", 409, func() bool { return status(f.proven) == agentruntime.TaskCompleted }},
		{"/tasks/" + f.proven + "/apply", "to=relative&how=apply", 422, func() bool { return true }},
		{"/tasks/" + f.proven + "/apply", "to=/nowhere&how=apply", 422, func() bool { return true }},
		{"/tasks/" + f.proven + "/apply", "to=" + t.TempDir() + "&how=apply", 409, func() bool { return true }}, // nothing vouches for the bundle
		{"/queue/pause", "", 200, func() bool { _, p, _ := r.st.Paused(t.Context()); return p }},
		{"/queue/resume", "", 200, func() bool { _, p, _ := r.st.Paused(t.Context()); return !p }},
		{"/queue/explode", "", 404, func() bool { return true }},
		{"/schedules/nightly-review", "say=disable", 200, func() bool {
			x, err := r.st.Schedule(t.Context(), "nightly-review")
			return err == nil && !x.Record.Enabled
		}},
		{"/sensors/ci-builds", "say=disable", 200, func() bool { x, err := r.st.Sensor(t.Context(), "ci-builds"); return err == nil && x.Disabled }},
		{"/sensors/none", "say=disable", 404, func() bool { return true }},
		{"/outbox/000000", "say=retry", 404, func() bool { return true }},
	} {
		if code, doc := r.post(c.path, c.form); code != c.code || !c.after() {
			t.Errorf("POST %s %s: %d, want %d\n%s", c.path, c.form, code, c.code, doc)
		}
	}
}

func TestAReaderChangesNothing(t *testing.T) {
	t.Parallel()
	r := enter(t)
	f := r.furnish()
	r.as(access.Read)
	for _, path := range []string{"/actions/" + f.action, "/tasks/" + f.running + "/cancel", "/queue/pause"} {
		if code, _ := r.post(path, "say=approve"); code != http.StatusForbidden {
			t.Errorf("POST %s: %d", path, code)
		}
	}
	if x, err := r.st.Action(t.Context(), f.action); err != nil || x.State != store.ActionOpen {
		t.Errorf("the action is %s, %v", x.State, err)
	}
}

func TestABackLinkStaysHere(t *testing.T) {
	t.Parallel()
	r := enter(t)
	f := r.furnish()
	for _, back := range []string{"//evil.example/x", "https://evil.example", "/\\evil.example", "javascript:alert(1)"} {
		code, doc := r.post("/actions/"+f.action, "say=nonsense&back="+back)
		if code == http.StatusOK || strings.Contains(doc, "evil.example") || strings.Contains(doc, "javascript:") {
			t.Errorf("back to %s: %d", back, code)
		}
	}
}

// Files lead to where they are served as files, each under its own name, whatever is in that.
func TestFilesCanBeHad(t *testing.T) {
	t.Parallel()
	r := enter(t)
	f := r.furnish()
	at, err := r.st.Task(t.Context(), f.proven)
	r.ok(err)
	arts, err := r.st.Artifacts(t.Context(), f.proven)
	r.ok(err)
	base := "/api/v1/attempts/" + at.AttemptID + "/bundle"
	for path, want := range map[string][]string{
		"/tasks/" + f.proven:             {`href="/api/v1/tasks/` + f.proven + `/artifacts/` + arts[0].ArtifactID + `"`, "report.md"},
		"/tasks/" + f.proven + "/bundle": {`href="` + base + `.tar" download`, `href="` + base + `/files/` + evidence.PathPatch + `"`, `href="` + base + `/files/files/artifacts/a%20report%3F%23%252e.html"`},
	} {
		_, doc := r.get(path)
		for _, w := range want {
			if !strings.Contains(doc, w) {
				t.Errorf("%s lacks %s", path, w)
			}
		}
	}
}
