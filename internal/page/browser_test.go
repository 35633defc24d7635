package page_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// axePath is where scripts/setup.sh puts the accessibility checker.
const axePath = "../../.cache/page/axe.min.js"

// A tabs is a window of a real Chromium on a room. What the page complains of is collected: a script that ran where none may, a
// style that was refused, an exception.
type tabs struct {
	*room
	ctx context.Context

	said sync.Mutex
	bad  []string // guarded by said
}

// two bounds how many browsers run at a time: each is a handful of processes.
var two = make(chan struct{}, 2)

// browse opens a window. Chromium's own sandbox needs rights that a test as root has not; what it shows is the test's own.
func browse(r *room) *tabs {
	r.Helper()
	exe, err := exec.LookPath("chromium")
	if err != nil {
		r.Skip("missing tool: chromium: apt-get install chromium")
	}
	two <- struct{}{}
	dir, err := os.MkdirTemp("", "deed-page-") // Chromium may still write when a test's own directory goes
	r.ok(err)
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(exe), chromedp.NoSandbox, chromedp.UserDataDir(dir),
		chromedp.Flag("disable-dev-shm-usage", true), chromedp.WSURLReadTimeout(2*time.Minute))
	alloc, stop := chromedp.NewExecAllocator(context.Background(), opts...)
	ctx, cancel := chromedp.NewContext(alloc)
	w := &tabs{room: r, ctx: ctx}
	r.Cleanup(func() {
		if r.Failed() {
			w.shoot(strings.ReplaceAll(r.Name(), "/", "-"))
		}
		cancel()
		stop()
		_ = os.RemoveAll(dir)
		<-two
	})
	w.do(chromedp.EmulateViewport(1280, 900))
	watch(w, page.JavascriptDialogOpening, func(e page.EventJavascriptDialogOpening) string { return "a dialog: " + e.Message })
	watch(w, runtime.ExceptionThrown, func(e runtime.EventExceptionThrown) string { return "an exception: " + e.ExceptionDetails.Text })
	watch(w, log.EntryAdded, func(e log.EventEntryAdded) string {
		if e.Entry.Level != log.EntryLevelError || strings.Contains(e.Entry.Text, "net::ERR") {
			return ""
		}
		return e.Entry.Text + " " + e.Entry.URL
	})
	w.call(func() error { _, err := chromedp.Call(ctx, log.Enable, cdp.Empty{}); return err })
	return w
}

// watch collects what the browser says until it ends.
func watch[E any](w *tabs, of cdp.Event[E], say func(E) string) {
	events := chromedp.Events(w.ctx, of)
	go func() {
		for e, err := range events {
			if err != nil {
				return
			}
			if s := say(e); s != "" {
				w.complain(s)
			}
		}
	}()
}

func (w *tabs) call(f func() error) {
	w.Helper()
	if err := f(); err != nil {
		w.Fatal(err)
	}
}

func (w *tabs) complain(s string) {
	w.said.Lock()
	defer w.said.Unlock()
	w.bad = append(w.bad, s)
}

// complaints returns what was complained of since the last call.
func (w *tabs) complaints() []string {
	w.said.Lock()
	defer w.said.Unlock()
	out := w.bad
	w.bad = nil
	return out
}

func (w *tabs) do(actions ...chromedp.Action[chromedp.Void]) {
	w.Helper()
	if err := chromedp.Do(w.ctx, actions...); err != nil {
		w.Fatal(err)
	}
}

func (w *tabs) open(path string) {
	w.Helper()
	w.do(chromedp.Navigate(w.url+path), chromedp.WaitReady("footer"))
}

// eval runs a script in the page and returns what it gives; a promise is waited for.
func eval[T any](w *tabs, script string) T {
	w.Helper()
	out, err := chromedp.Run(w.ctx, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
	if err != nil {
		w.Fatalf("%v: %s", err, script[:min(len(script), 200)])
	}
	return out
}

// until waits for a condition in the page, over navigations too.
func (w *tabs) until(condition string) {
	w.Helper()
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	end := time.After(time.Minute)
	for {
		if ok, err := chromedp.Run(w.ctx, chromedp.Evaluate[bool]("!!("+condition+")")); err == nil && ok {
			return
		}
		select {
		case <-look.C:
		case <-end:
			w.Fatalf("it never came to %s", condition)
		}
	}
}

func (w *tabs) theme(dark bool) {
	w.Helper()
	value := "light"
	if dark {
		value = "dark"
	}
	w.call(func() error {
		_, err := chromedp.Call(w.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: value}}})
		return err
	})
}

// shoot keeps a picture of the page: where DEED_SCREENSHOTS says, else among the temporary files.
func (w *tabs) shoot(name string) {
	dir := os.Getenv("DEED_SCREENSHOTS")
	if dir == "" {
		dir = os.TempDir()
	}
	ctx, cancel := context.WithTimeout(w.ctx, time.Minute)
	defer cancel()
	png, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		w.Logf("no picture: %v", err)
		return
	}
	path := filepath.Join(dir, name+".png")
	if err := os.WriteFile(path, png, 0o600); err != nil {
		w.Logf("no picture: %v", err)
		return
	}
	w.Logf("what it looked like: %s", path)
}

// axe lists the faults that the accessibility checker finds in the page.
func (w *tabs) axe(options string) []string {
	w.Helper()
	script, err := os.ReadFile(axePath)
	if err != nil {
		w.Skip("missing tool: axe-core: scripts/setup.sh fetches it")
	}
	w.do(chromedp.Evaluate[chromedp.Void](string(script) + ";0"))
	type fault struct {
		ID    string `json:"id"`
		Help  string `json:"help"`
		Nodes []struct {
			HTML           string `json:"html"`
			FailureSummary string `json:"failureSummary"`
		} `json:"nodes"`
	}
	var out []string
	for _, v := range eval[[]fault](w, `axe.run(`+options+`).then(r => r.violations)`) {
		for _, n := range v.Nodes {
			out = append(out, fmt.Sprintf("%s: %s\n  %s\n  %s", v.ID, v.Help, n.HTML, n.FailureSummary))
		}
	}
	return out
}

// TestEveryViewIsAccessible looks at every view in light and dark, at the width of a desk and of a phone.
func TestEveryViewIsAccessible(t *testing.T) {
	t.Parallel()
	r := enter(t)
	f := r.furnish()
	w := browse(r)
	paths := []string{
		"/", "/tasks", "/actions", "/workflows", "/workflows/" + f.flow, "/schedules", "/sensors", "/outbox", "/fleet", "/usage", "/search?q=parser", "/nowhere",
		"/tasks/" + f.refused, "/tasks/" + f.retried, "/tasks/" + f.blocked, "/tasks/" + f.running, "/tasks/" + f.proven + "/diff", "/tasks/" + f.proven + "/diff?view=split",
		"/tasks/" + f.proven + "/journal", "/tasks/" + f.proven + "/logs", "/tasks/" + f.proven + "/brief", "/tasks/" + f.proven + "/usage", "/tasks/" + f.proven + "/bundle?verify=1",
	}
	// In the dark only colours differ.
	for dark, rules := range map[bool]string{false: `{resultTypes: ["violations"]}`, true: `{runOnly: ["color-contrast", "link-in-text-block"]}`} {
		w.theme(dark)
		for _, path := range paths {
			w.open(path)
			for _, fault := range w.axe(rules) {
				t.Errorf("%s, dark %v: %s", path, dark, fault)
			}
			if bad := w.complaints(); len(bad) > 0 && path != "/nowhere" {
				t.Errorf("%s: the browser complains: %q", path, bad)
			}
		}
	}
	w.do(chromedp.EmulateViewport(360, 740, chromedp.EmulateMobile))
	for _, path := range paths {
		w.open(path)
		over := eval[int](w, `document.documentElement.scrollWidth - document.documentElement.clientWidth`)
		if over > 0 {
			who := eval[[]string](w, `[...document.querySelectorAll("main *, header *")].filter(e => e.getBoundingClientRect().right > innerWidth + 1).slice(0, 5).map(e => e.outerHTML.slice(0, 120))`)
			t.Errorf("%s scrolls sideways on a phone, by %d: %q", path, over, who)
		}
	}
}

// TestKeysAlone goes from home to a task, to its evidence, and approves, without a mouse.
func TestKeysAlone(t *testing.T) {
	t.Parallel()
	r := enter(t)
	f := r.furnish()
	w := browse(r)
	w.open("/")
	var at string
	press := func(keys string) { w.do(chromedp.KeyEvent(keys)) }
	where := func(want string) {
		t.Helper()
		w.until(`location.pathname === ` + string(raw(want)))
		w.do(chromedp.WaitReady("footer"))
		w.until(`document.readyState === "complete"`)
	}
	press("g")
	press("a")
	where("/actions")
	w.until(`!!document.querySelector(".asked")`)
	w.do(chromedp.Evaluate[chromedp.Void](`document.querySelector('.asked a[href="/tasks/` + f.blocked + `"]').focus()`))
	press("\r")
	where("/tasks/" + f.blocked)
	press("3")
	where("/tasks/" + f.blocked + "/journal")
	press("e")
	w.until(`[...document.querySelectorAll(".timeline details")].every(d => d.open)`)
	press("1")
	where("/tasks/" + f.blocked)
	// Tab from the top until the button has the focus: it can be reached.
	for range 80 {
		press("\t")
		at = eval[string](w, `document.activeElement.value || ""`)
		if at == "approve" {
			break
		}
	}
	if at != "approve" {
		t.Fatalf("the button for approval cannot be reached by the keyboard; the focus is on %q", at)
	}
	press("\r")
	w.until(`document.body.innerText.includes("Approved.")`)
	x, err := r.st.Action(t.Context(), f.action)
	r.ok(err)
	if x.AnsweredBy != "ada" || !strings.Contains(string(x.Answer), "allow") {
		t.Errorf("the answer is %s by %s", x.Answer, x.AnsweredBy)
	}
	if bad := w.complaints(); len(bad) > 0 {
		t.Errorf("the browser complains: %q", bad)
	}
}

// TestThePageFollows changes the store and sees the page change by itself, with what the reader had unfolded and typed left alone.
func TestThePageFollows(t *testing.T) {
	t.Parallel()
	r := enter(t)
	f := r.furnish()
	w := browse(r)
	w.open("/")
	w.until(`document.querySelector("#live").textContent === "live"`)
	w.do(chromedp.Focus(".find input"), chromedp.KeyEvent("abc"))
	id := r.add("A task that was not there before")
	r.settle(r.begin(id), accepted("done", "x.go"))
	r.tell()
	w.until(`document.querySelector("#proven").innerText.includes("A task that was not there before")`)
	if typed := eval[string](w, `document.activeElement.value`); typed != "abc" {
		t.Errorf("what was typed is %q", typed)
	}
	w.open("/tasks/" + f.running + "/journal")
	w.until(`document.querySelector("#live").textContent === "live"`)
	w.do(chromedp.Click(".timeline details summary"))
	at, err := r.st.Task(t.Context(), f.running)
	r.ok(err)
	r.note(at.AttemptID, "agent_text", map[string]string{"text": "One more word."})
	r.tell()
	w.until(`document.querySelector("#journal").innerText.includes("One more word.")`)
	if !eval[bool](w, `document.querySelector(".timeline details").open`) {
		t.Error("what was unfolded is folded again")
	}
}

// TestThemes turns the theme and finds it again on the next page.
func TestThemes(t *testing.T) {
	t.Parallel()
	r := enter(t)
	w := browse(r)
	w.theme(false)
	w.open("/")
	bg := eval[string](w, `getComputedStyle(document.documentElement).backgroundColor`)
	w.do(chromedp.KeyEvent("."), chromedp.KeyEvent("."))
	w.open("/tasks")
	later := eval[string](w, `document.documentElement.dataset.theme + " " + getComputedStyle(document.documentElement).backgroundColor`)
	if !strings.HasPrefix(later, "dark ") || strings.HasSuffix(later, bg) {
		t.Errorf("light is %s, and after two turns it is %s", bg, later)
	}
}
