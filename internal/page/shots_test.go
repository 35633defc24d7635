package page_test

import (
	"os"
	"testing"
)

// TestShots takes the pictures of the documentation, of the home that DEED_SHOTS_HOME names or of a furnished room. It needs
// DEED_SCREENSHOTS.
func TestShots(t *testing.T) {
	if os.Getenv("DEED_SCREENSHOTS") == "" {
		t.Skip("DEED_SCREENSHOTS names no directory for pictures")
	}
	r := enter(t)
	f := r.furnish()
	w := browse(r)
	for name, path := range map[string]string{
		"home": "/", "tasks": "/tasks", "task-refused": "/tasks/" + f.refused, "task-attempts": "/tasks/" + f.retried, "task-waiting": "/tasks/" + f.blocked, "task-running": "/tasks/" + f.running,
		"diff": "/tasks/" + f.proven + "/diff", "diff-split": "/tasks/" + f.proven + "/diff?view=split", "journal": "/tasks/" + f.proven + "/journal", "logs": "/tasks/" + f.proven + "/logs",
		"bundle": "/tasks/" + f.proven + "/bundle?verify=1", "brief": "/tasks/" + f.proven + "/brief", "task-usage": "/tasks/" + f.running + "/usage", "actions": "/actions", "workflow": "/workflows/" + f.flow,
		"workflows": "/workflows", "schedules": "/schedules", "sensors": "/sensors", "outbox": "/outbox", "fleet": "/fleet", "usage": "/usage", "search": "/search?q=parser", "error": "/nowhere",
	} {
		w.open(path)
		w.until(`!document.body.dataset.events || document.querySelector("#live").textContent === "live"`)
		w.shoot(name)
	}
}
