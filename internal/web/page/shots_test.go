package page_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/deedrun/deed/internal/base/home"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/web/access"
	"github.com/deedrun/deed/internal/web/page/pagetest"
)

// TestShots takes the pictures of docs/screenshots: of the home that `deed demo` left, whose directory DEED_DEMO names, with one of
// everything else put into it. They go to the directory that DEED_SCREENSHOTS names.
func TestShots(t *testing.T) {
	demo := os.Getenv("DEED_DEMO")
	if demo == "" || os.Getenv("DEED_SCREENSHOTS") == "" {
		t.Skip("DEED_DEMO and DEED_SCREENSHOTS name no directories")
	}
	dir := filepath.Join(t.TempDir(), "home")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(demo, "home"))); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, "keys", "ed25519.pem"), 0o600); err != nil {
		t.Fatal(err)
	}
	h, err := home.Open(dir)
	r := &room{TB: t, h: h, who: access.Principal{Name: "ada", Role: access.Operate, How: access.BySession}, news: make(chan struct{})}
	r.ok(err)
	r.open(h)
	of := map[string]string{} // the demo's tasks by their agents
	list, err := r.st.Tasks(t.Context(), store.TaskFilter{})
	r.ok(err)
	for _, x := range list {
		at, err := r.st.Attempt(t.Context(), x.AttemptID)
		r.ok(err)
		of[at.Record.AdapterID] = "/tasks/" + x.ID()
	}
	f := r.furnish()
	w := pagetest.Browse(r, r.url)
	shoot := func(name, path string, width, height int64) {
		w.Do(chromedp.EmulateViewport(width, height))
		w.Open(path)
		w.Until(`!document.body.dataset.events || document.querySelector("#live").textContent === "live"`)
		w.Shoot(name)
	}
	for name, path := range map[string]string{
		"home": "/", "tasks": "/tasks", "task-refused": of["forger"], "task-proven": of["hasty"], "task-attempts": "/tasks/" + f.retried, "task-waiting": "/tasks/" + f.blocked, "task-running": "/tasks/" + f.running,
		"change": of["hasty"] + "/diff", "change-side-by-side": of["hasty"] + "/diff?view=split", "journal": of["hasty"] + "/journal", "logs": of["worker"] + "/logs", "bundle": of["hasty"] + "/bundle?verify=1",
		"brief": of["hasty"] + "/brief", "task-usage": "/tasks/" + f.running + "/usage", "waiting": "/actions", "workflow": "/workflows/" + f.flow, "workflows": "/workflows", "schedules": "/schedules", "sensors": "/sensors",
		"outbox": "/outbox", "fleet": "/fleet", "usage": "/usage", "search": "/search?q=parser", "error": "/nowhere",
	} {
		shoot(name, path, 1280, 800)
	}
	w.Theme(true)
	shoot("home-dark", "/", 1280, 800)
	shoot("task-dark", of["forger"], 1280, 800)
	w.Theme(false)
	shoot("home-phone", "/", 390, 844)
	shoot("task-phone", of["forger"], 390, 844)
}
