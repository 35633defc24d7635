package cli

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/base/home"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/web/page/pagetest"
	deedserver "github.com/deedrun/deed/internal/web/server"
)

// A visitor is a real browser at the page of the real binary.
type visitor struct {
	*pagetest.Window
	*site
	st  *store.Store
	url string
}

// TestThePageOfTheRealServer goes through a day at the page: in by the link, look, approve, deny, cancel, retry, out. The server's own
// policy holds all the while, and the browser complains of nothing.
func TestThePageOfTheRealServer(t *testing.T) {
	t.Parallel()
	needBwrap(t)
	s := agentSite(t, "native", "fix")
	s.settings("  slow: {kind: script, command: ./slow.sh, timeout_ms: 60000, env: {MARK: " + s.mark + "}}\nretry: {base_seconds: 0.001, max_seconds: 0.001}\n")
	s.asking("live_seconds: 0")
	if err := os.WriteFile(filepath.Join(s.dir, "slow.sh"), []byte("#!/bin/sh\nwhile :; do sleep 0.05; done\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	s.serve("--concurrency", "2")
	at, err := deedserver.Find(home.At(s.home))
	if err != nil {
		t.Fatal(err)
	}
	p := &visitor{Window: pagetest.Browse(t, at.URL), site: s, st: s.open(), url: at.URL}
	p.comeIn()
	approved, _ := s.agent("--agent", "fix", "make the failing test pass")
	p.follows(approved.TaskID)
	p.approves(approved.TaskID)
	denied, _ := s.agent("--agent", "fix", "--attempts", "1", "make it pass again")
	p.denies(denied.TaskID)
	p.cancelsAndRetries()
	p.calm("all of it")
	p.isNotForged()
	p.goesOut()
}

// calm wants that the browser has complained of nothing.
func (p *visitor) calm(where string) {
	p.t.Helper()
	if bad := p.Complaints(); len(bad) > 0 {
		p.t.Errorf("%s: the browser complains: %q", where, bad)
	}
}

func (p *visitor) sees(text string) {
	p.t.Helper()
	p.Until("document.body && document.body.innerText.includes(" + fmt.Sprintf("%q", text) + ")")
}

// live waits until the page follows; that of a task that has ended has nothing to follow.
func (p *visitor) live() {
	p.t.Helper()
	p.Until(`!document.body.dataset.events || document.querySelector("#live")?.textContent === "live"`)
}

func (p *visitor) comeIn() {
	p.t.Helper()
	link := strings.TrimPrefix(strings.TrimSpace(p.ok("open")), p.url)
	p.Open(link)
	p.Until(`location.pathname === "/" && location.search === ""`) // the code is nowhere that a history keeps
	p.live()
	p.calm("home")
	if code := p.answer(http.DefaultClient, http.MethodGet, p.url+link, nil); code != http.StatusUnauthorized {
		p.t.Errorf("the link a second time: %d", code)
	}
}

// follows sees on the home page, which was open before, that a task waits, and goes there.
func (p *visitor) follows(id string) {
	p.t.Helper()
	p.Until(`document.querySelector('#waiting a[href^="/actions/"]')`)
	p.Do(chromedp.Click(`#waiting a[href^="/actions/"]`))
	p.Until(`document.querySelector('.asked a[href="/tasks/` + id + `"]')`)
	p.Do(chromedp.Click(`.asked a[href="/tasks/` + id + `"]`))
	p.Until(`location.pathname === "/tasks/` + id + `"`)
	p.live()
}

// says presses a button of the task that is shown. Its page is the same afterwards.
func (p *visitor) click(id, button string) {
	p.t.Helper()
	p.Open("/tasks/" + id)
	p.live()
	p.Do(chromedp.Evaluate[chromedp.Void](`window.confirm = () => true`), chromedp.Click(button))
	p.Until(`location.pathname === "/tasks/` + id + `" && document.querySelector(".notice.good")`)
}

func (p *visitor) approves(id string) {
	p.t.Helper()
	p.click(id, `.asked button[value=approve]`)
	p.sees("Approved.")
	p.sees("Accepted by the gate") // the dispatcher went on, and the page saw it by itself
	p.Open("/tasks/" + id + "/diff")
	p.sees("return a + b")
	for _, part := range []string{"/journal", "/logs", "/brief", "/usage", "/bundle?verify=1"} {
		p.Open("/tasks/" + id + part)
		p.calm(part)
	}
	p.sees("manifest.json")
	p.fetches()
	if x, err := p.st.Actions(p.t.Context(), store.ActionFilter{TaskID: id}); err != nil || len(x) != 1 || x[0].AnsweredBy == "" {
		p.t.Errorf("the action: %+v, %v", x, err)
	}
}

// fetches has every file that the page of the bundle leads to: as text, or as a download, and never as a page.
func (p *visitor) fetches() {
	p.t.Helper()
	type got struct{ Path, Type, Disposition, Policy, Sniff string }
	list := pagetest.Eval[[]got](p.Window, `Promise.all([...document.querySelectorAll('main a[href^="/api/"]')].map(async (a) => {
		const r = await fetch(a.href), h = (n) => r.headers.get(n) || "";
		return {Path: r.status + " " + a.pathname, Type: h("content-type"), Disposition: h("content-disposition"), Policy: h("content-security-policy"), Sniff: h("x-content-type-options")};
	}))`)
	if len(list) < 5 || !strings.HasSuffix(list[0].Path, ".tar") {
		p.t.Errorf("the page leads to %d files: %+v", len(list), list)
	}
	for _, f := range list {
		text := strings.HasPrefix(f.Type, "text/plain") && strings.HasPrefix(f.Disposition, "inline")
		if !strings.HasPrefix(f.Path, "200 ") || !text && !strings.HasPrefix(f.Disposition, "attachment") || !strings.Contains(f.Policy, "sandbox") || f.Sniff != "nosniff" {
			p.t.Errorf("%+v", f)
		}
	}
}

func (p *visitor) denies(id string) {
	p.t.Helper()
	p.Open("/actions")
	p.live()
	p.Do(chromedp.SendKeys(`.asked input[name=note]`, "not on a Friday"), chromedp.Click(`.asked button[value=deny]`))
	p.sees("Denied.")
	x, err := p.st.Actions(p.t.Context(), store.ActionFilter{TaskID: id})
	if err != nil || len(x) != 1 || !strings.Contains(string(x[0].Answer), "not on a Friday") {
		p.t.Errorf("the action: %+v, %v", x, err)
	}
}

func (p *visitor) cancelsAndRetries() {
	p.t.Helper()
	id := p.add(map[string]any{"task_type": "script", "source": "t", "requested_adapter_id": "slow", "payload": map[string]any{}})
	is := func(want agentruntime.TaskStatus) {
		p.t.Helper()
		p.until("it is "+string(want), func() bool { return status(p.t, p.st, id) == want })
	}
	is(agentruntime.TaskRunning)
	p.click(id, `form[action$="/cancel"] button`)
	is(agentruntime.TaskOperatorCanceled)
	p.Until(`document.querySelector('form[action$="/retry"] button')`) // by the stream
	p.click(id, `form[action$="/retry"] button`)
	is(agentruntime.TaskRunning)
	p.click(id, `form[action$="/cancel"] button`)
	is(agentruntime.TaskOperatorCanceled)
}

// isNotForged lets another site, whose page the same browser shows, send the page's own form; and then a program that has the cookie.
func (p *visitor) isNotForged() {
	p.t.Helper()
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprintf(w, `<form method="post" action="%s/queue/pause"><button id="b">free gift</button></form>`, p.url)
	}))
	defer evil.Close()
	p.Do(chromedp.Navigate(evil.URL), chromedp.Click("#b"))
	p.sees("another origin")
	p.Complaints()

	jar, err := cookiejar.New(nil)
	if err != nil {
		p.t.Fatal(err)
	}
	c := &http.Client{Jar: jar, Timeout: time.Minute}
	if code := p.answer(c, http.MethodGet, strings.TrimSpace(p.ok("open")), nil); code != http.StatusOK {
		p.t.Fatalf("a program with a link: %d", code)
	}
	for name, head := range map[string]http.Header{
		"no token": {}, "another origin": {"Origin": {evil.URL}}, "no origin": {"Origin": {"null"}}, "another site": {"Sec-Fetch-Site": {"cross-site"}}, "a wrong token": {"X-Csrf-Token": {"0000"}},
	} {
		if code := p.answer(c, http.MethodPost, p.url+"/queue/pause", head); code != http.StatusForbidden {
			p.t.Errorf("%s: %d", name, code)
		}
	}
	if _, paused, err := p.st.Paused(p.t.Context()); err != nil || paused {
		p.t.Errorf("a forged request paused the queue: %v %v", paused, err)
	}
}

// answer is the status that a program gets for a request.
func (p *visitor) answer(c *http.Client, method, url string, head http.Header) int {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), method, url, http.NoBody)
	if err != nil {
		p.t.Fatal(err)
	}
	maps.Copy(req.Header, head)
	res, err := c.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	_ = res.Body.Close()
	return res.StatusCode
}

// goesOut ends the session under an open page, comes in again, and logs out.
func (p *visitor) goesOut() {
	p.t.Helper()
	p.Open("/")
	p.live()
	list, err := p.st.Credentials(p.t.Context(), store.CredentialSession, 10)
	if err != nil || len(list) == 0 {
		p.t.Fatalf("%v %v", list, err)
	}
	for _, c := range list {
		p.ok("token", "revoke", c.ID)
	}
	p.Until(`document.querySelector("#live").textContent === "signed out"`)
	p.Do(chromedp.Navigate(p.url + "/tasks"))
	p.sees("deed open")
	p.Open(strings.TrimPrefix(strings.TrimSpace(p.ok("open", "--path", "/tasks")), p.url))
	p.Until(`location.pathname === "/tasks"`)
	p.Do(chromedp.Click("#logout"))
	p.Until(`location.pathname === "/login"`)
	p.sees("deed open")
	p.Do(chromedp.Navigate(p.url + "/"))
	p.sees("deed open")
}

// TestThePageOfTheExample has the shipped example agent at work and looks at its life: the sensor saw a commit, which started a workflow,
// and the schedule ran. With DEED_SCREENSHOTS it takes the pictures of it in docs/screenshots.
func TestThePageOfTheExample(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	if err := os.Remove(filepath.Join(s.dir, "deed.yaml")); err != nil { // the example brings its own
		t.Fatal(err)
	}
	s.env = append(s.env, "DEED_CONFIG=")
	watched := filepath.Join(s.dir, "repository")
	for _, args := range [][]string{{"init", "-q", "-b", "main", watched}, {"-C", watched, "-c", "user.name=Ada", "-c", "user.email=ada@example.org", "commit", "-q", "--allow-empty", "-m", "Begin the notes"}} {
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	example, err := filepath.Abs(filepath.Join(repository, "examples", "caretaker"))
	if err != nil {
		t.Fatal(err)
	}
	s.ok("agent", "import", example)
	s.serve()
	at, err := deedserver.Find(home.At(s.home))
	if err != nil {
		t.Fatal(err)
	}
	p := &visitor{Window: pagetest.Browse(t, at.URL), site: s, st: s.open(), url: at.URL}
	p.comeIn()
	s.ok("schedule", "run", "nightly")
	p.sees("Check the repository") // home saw the schedule's task by itself
	p.Open("/workflows?all=1")
	p.sees("completed")
	flow := pagetest.Eval[string](p.Window, `document.querySelector('main a.open[href^="/workflows/"]').getAttribute("href")`)
	list, err := p.st.Tasks(t.Context(), store.TaskFilter{})
	if err != nil || len(list) != 4 {
		t.Fatalf("%d tasks, %v", len(list), err)
	}
	for _, v := range []struct{ name, path, sees string }{
		{"agent-home", "/", "Check the repository"},
		{"agent-workflow", flow, "complete"},
		{"", "/sensors", "commits"},
		{"agent-schedules", "/schedules", "nightly"},
		{"agent-task", "/tasks/" + list[0].ID(), "by the gate"},
	} {
		p.Open(v.path)
		p.live()
		p.sees(v.sees)
		p.calm(v.path)
		if os.Getenv("DEED_SCREENSHOTS") != "" && v.name != "" {
			p.Do(chromedp.EmulateViewport(1280, 800))
			p.Shoot(v.name)
		}
	}
}
