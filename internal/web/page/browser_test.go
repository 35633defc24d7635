package page_test

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/deedrun/deed/internal/web/page/pagetest"
)

// TestEveryViewIsAccessible looks at every view in light and dark, at the width of a desk and of a phone.
func TestEveryViewIsAccessible(t *testing.T) {
	t.Parallel()
	r := enter(t)
	f := r.furnish()
	w := pagetest.Browse(r, r.url)
	paths := []string{
		"/", "/tasks", "/actions", "/workflows", "/workflows/" + f.flow, "/schedules", "/sensors", "/outbox", "/fleet", "/usage", "/search?q=parser", "/nowhere",
		"/tasks/" + f.refused, "/tasks/" + f.retried, "/tasks/" + f.blocked, "/tasks/" + f.running, "/tasks/" + f.proven + "/diff", "/tasks/" + f.proven + "/diff?view=split",
		"/tasks/" + f.proven + "/journal", "/tasks/" + f.proven + "/logs", "/tasks/" + f.proven + "/brief", "/tasks/" + f.proven + "/usage", "/tasks/" + f.proven + "/bundle?verify=1",
	}
	// In the dark only colours differ.
	for dark, rules := range map[bool]string{false: `{resultTypes: ["violations"]}`, true: `{runOnly: ["color-contrast", "link-in-text-block"]}`} {
		w.Theme(dark)
		for _, path := range paths {
			w.Open(path)
			for _, fault := range w.Axe(rules) {
				t.Errorf("%s, dark %v: %s", path, dark, fault)
			}
			if bad := w.Complaints(); len(bad) > 0 && path != "/nowhere" {
				t.Errorf("%s: the browser complains: %q", path, bad)
			}
		}
	}
	w.Do(chromedp.EmulateViewport(360, 740, chromedp.EmulateMobile))
	for _, path := range paths {
		w.Open(path)
		over := pagetest.Eval[int](w, `document.documentElement.scrollWidth - document.documentElement.clientWidth`)
		if over > 0 {
			who := pagetest.Eval[[]string](w, `[...document.querySelectorAll("main *, header *")].filter(e => e.getBoundingClientRect().right > innerWidth + 1).slice(0, 5).map(e => e.outerHTML.slice(0, 120))`)
			t.Errorf("%s scrolls sideways on a phone, by %d: %q", path, over, who)
		}
	}
}

// TestKeysAlone goes from home to a task, to its evidence, and approves, without a mouse.
func TestKeysAlone(t *testing.T) {
	t.Parallel()
	r := enter(t)
	f := r.furnish()
	w := pagetest.Browse(r, r.url)
	w.Open("/")
	var at string
	press := func(keys string) { w.Do(chromedp.KeyEvent(keys)) }
	where := func(want string) {
		t.Helper()
		w.Until(`location.pathname === ` + string(raw(want)))
		w.Do(chromedp.WaitReady("footer"))
		w.Until(`document.readyState === "complete"`)
	}
	press("g")
	press("a")
	where("/actions")
	w.Until(`!!document.querySelector(".asked")`)
	w.Do(chromedp.Evaluate[chromedp.Void](`document.querySelector('.asked a[href="/tasks/` + f.blocked + `"]').focus()`))
	press("\r")
	where("/tasks/" + f.blocked)
	press("3")
	where("/tasks/" + f.blocked + "/journal")
	press("e")
	w.Until(`[...document.querySelectorAll(".timeline details")].every(d => d.open)`)
	press("1")
	where("/tasks/" + f.blocked)
	// Tab from the top until the button has the focus: it can be reached.
	for range 80 {
		press("\t")
		at = pagetest.Eval[string](w, `document.activeElement.value || ""`)
		if at == "approve" {
			break
		}
	}
	if at != "approve" {
		t.Fatalf("the button for approval cannot be reached by the keyboard; the focus is on %q", at)
	}
	press("\r")
	w.Until(`document.body.innerText.includes("Approved.")`)
	x, err := r.st.Action(t.Context(), f.action)
	r.ok(err)
	if x.AnsweredBy != "ada" || !strings.Contains(string(x.Answer), "allow") {
		t.Errorf("the answer is %s by %s", x.Answer, x.AnsweredBy)
	}
	if bad := w.Complaints(); len(bad) > 0 {
		t.Errorf("the browser complains: %q", bad)
	}
}

// TestThePageFollows changes the store and sees the page change by itself, with what the reader had unfolded and typed left alone.
func TestThePageFollows(t *testing.T) {
	t.Parallel()
	r := enter(t)
	f := r.furnish()
	w := pagetest.Browse(r, r.url)
	w.Open("/")
	w.Until(`document.querySelector("#live").textContent === "live"`)
	w.Do(chromedp.Focus(".find input"), chromedp.KeyEvent("abc"))
	id := r.add("A task that was not there before")
	r.settle(r.begin(id), accepted("done", "x.go"))
	r.notify()
	w.Until(`document.querySelector("#accepted").innerText.includes("A task that was not there before")`)
	if typed := pagetest.Eval[string](w, `document.activeElement.value`); typed != "abc" {
		t.Errorf("what was typed is %q", typed)
	}
	w.Open("/tasks/" + f.running + "/journal")
	w.Until(`document.querySelector("#live").textContent === "live"`)
	w.Do(chromedp.Click(".timeline details summary"))
	at, err := r.st.Task(t.Context(), f.running)
	r.ok(err)
	r.note(at.AttemptID, "agent_text", map[string]string{"text": "One more word."})
	r.notify()
	w.Until(`document.querySelector("#journal").innerText.includes("One more word.")`)
	if !pagetest.Eval[bool](w, `document.querySelector(".timeline details").open`) {
		t.Error("what was unfolded is folded again")
	}
}

// TestThemes turns the theme and finds it again on the next page.
func TestThemes(t *testing.T) {
	t.Parallel()
	r := enter(t)
	w := pagetest.Browse(r, r.url)
	w.Theme(false)
	w.Open("/")
	bg := pagetest.Eval[string](w, `getComputedStyle(document.documentElement).backgroundColor`)
	w.Do(chromedp.KeyEvent("."), chromedp.KeyEvent("."))
	w.Open("/tasks")
	later := pagetest.Eval[string](w, `document.documentElement.dataset.theme + " " + getComputedStyle(document.documentElement).backgroundColor`)
	if !strings.HasPrefix(later, "dark ") || strings.HasSuffix(later, bg) {
		t.Errorf("light is %s, and after two turns it is %s", bg, later)
	}
}
