// Package pagetest owns a real browser for tests of the page: what it shows, its console errors, and screenshots.
package pagetest

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
const axePath = "../../../.cache/page/axe.min.js" // from the directory of a package in a part of internal

// A Window is one of a real Chromium. What the page complains of is collected: a script that ran where none may, a style that was
// refused, an exception, whatever the policy of the server forbids.
type Window struct {
	testing.TB
	url string
	ctx context.Context

	logged sync.Mutex
	bad    []string // guarded by said
}

// two bounds how many browsers run at a time: each is a handful of processes.
var two = make(chan struct{}, 2)

// Browse opens a window on a server. Chromium's own sandbox needs rights that a test as root has not; what it shows is the test's own.
func Browse(r testing.TB, url string) *Window {
	r.Helper()
	if testing.Short() {
		r.Skip("short: needs a browser")
	}
	exe, err := exec.LookPath("chromium")
	if err != nil {
		r.Skip("missing tool: chromium: apt-get install chromium")
	}
	two <- struct{}{}
	dir, err := os.MkdirTemp("", "deed-page-") // Chromium may still write when a test's own directory goes
	if err != nil {
		r.Fatal(err)
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(exe), chromedp.NoSandbox, chromedp.UserDataDir(dir),
		chromedp.Flag("disable-dev-shm-usage", true), chromedp.WSURLReadTimeout(2*time.Minute))
	alloc, stop := chromedp.NewExecAllocator(context.Background(), opts...)
	ctx, cancel := chromedp.NewContext(alloc)
	w := &Window{TB: r, url: url, ctx: ctx}
	r.Cleanup(func() {
		if r.Failed() {
			w.Shoot(strings.ReplaceAll(r.Name(), "/", "-"))
		}
		cancel()
		stop()
		_ = os.RemoveAll(dir)
		<-two
	})
	w.Do(chromedp.EmulateViewport(1280, 900))
	watch(w, page.JavascriptDialogOpening, func(e page.EventJavascriptDialogOpening) string { return "a dialog: " + e.Message })
	watch(w, runtime.ExceptionThrown, func(e runtime.EventExceptionThrown) string { return "an exception: " + e.ExceptionDetails.Text })
	watch(w, log.EntryAdded, func(e log.EventEntryAdded) string {
		if e.Entry.Level != log.EntryLevelError || strings.Contains(e.Entry.Text, "net::ERR") {
			return ""
		}
		return e.Entry.Text + " " + e.Entry.URL
	})
	watch(w, runtime.ConsoleAPICalled, func(e runtime.EventConsoleAPICalled) string {
		if e.Type != runtime.ConsoleAPICalledTypeError {
			return ""
		}
		said := "on the console:"
		for _, a := range e.Args {
			said += " " + string(a.Value)
		}
		return said
	})
	w.call(func() error { _, err := chromedp.Call(ctx, log.Enable, cdp.Empty{}); return err })
	w.call(func() error {
		_, err := chromedp.Call(ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: forbidden})
		return err
	})
	return w
}

// forbidden reports what a policy forbids, also where the browser's own log is silent.
const forbidden = `addEventListener("securitypolicyviolation", (e) => console.error("the policy forbids " + e.violatedDirective + " " + e.blockedURI));`

// watch collects what the browser says until it ends.
func watch[E any](w *Window, of cdp.Event[E], say func(E) string) {
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

func (w *Window) call(f func() error) {
	w.Helper()
	if err := f(); err != nil {
		w.Fatal(err)
	}
}

func (w *Window) complain(s string) {
	w.logged.Lock()
	defer w.logged.Unlock()
	w.bad = append(w.bad, s)
}

// Complaints returns what was complained of since the last call.
func (w *Window) Complaints() []string {
	w.logged.Lock()
	defer w.logged.Unlock()
	out := w.bad
	w.bad = nil
	return out
}

// Do carries actions out.
func (w *Window) Do(actions ...chromedp.Action[chromedp.Void]) {
	w.Helper()
	if err := chromedp.Do(w.ctx, actions...); err != nil {
		w.Fatal(err)
	}
}

// Open goes to a path of the server.
func (w *Window) Open(path string) {
	w.Helper()
	w.Do(chromedp.Navigate(w.url+path), chromedp.WaitReady("footer"))
}

// Eval runs a script in the page and returns what it gives; a promise is waited for.
func Eval[T any](w *Window, script string) T {
	w.Helper()
	out, err := chromedp.Run(w.ctx, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
	if err != nil {
		w.Fatalf("%v: %s", err, script[:min(len(script), 200)])
	}
	return out
}

// Until waits for a condition in the page, over navigations too.
func (w *Window) Until(condition string) {
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

// Theme asks for the dark, or for the light.
func (w *Window) Theme(dark bool) {
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

// Shoot keeps a picture of the page: where DEED_SCREENSHOTS says, else among the temporary files.
func (w *Window) Shoot(name string) {
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

// Axe lists the faults that the accessibility checker finds in the page.
func (w *Window) Axe(options string) []string {
	w.Helper()
	script, err := os.ReadFile(axePath)
	if err != nil {
		w.Skip("missing tool: axe-core: scripts/setup.sh fetches it")
	}
	w.Do(chromedp.Evaluate[chromedp.Void](string(script) + ";0"))
	type fault struct {
		ID    string `json:"id"`
		Help  string `json:"help"`
		Nodes []struct {
			HTML           string `json:"html"`
			FailureSummary string `json:"failureSummary"`
		} `json:"nodes"`
	}
	var out []string
	for _, v := range Eval[[]fault](w, `axe.run(`+options+`).then(r => r.violations)`) {
		for _, n := range v.Nodes {
			out = append(out, fmt.Sprintf("%s: %s\n  %s\n  %s", v.ID, v.Help, n.HTML, n.FailureSummary))
		}
	}
	return out
}
