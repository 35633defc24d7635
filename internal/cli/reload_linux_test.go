package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// On a terminal SIGHUP is a reload too, for as long as the terminal is there; when it was closed it is the end, without anything left.
func TestServeOnATerminal(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"quiet": "exit 0"})
	y := s.on(200, 50, "serve", "--listen", "off")
	y.await(0, "serving")
	raw, err := os.ReadFile(filepath.Join(s.home, "dispatch.lock"))
	if err != nil {
		t.Fatal(err)
	}
	var holder struct {
		PID int `json:"pid"`
	}
	if err := json.Unmarshal(raw, &holder); err != nil || holder.PID == 0 {
		t.Fatalf("%s: %v", raw, err)
	}
	_, from := y.raw(0)
	if err := syscall.Kill(holder.PID, syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	y.await(from, "settings reloaded")
	if err := y.main.Close(); err != nil {
		t.Fatal(err)
	}
	s.deed(nil, "reload") // what it logs ends the read under way, and with it the terminal
	ended := make(chan error, 1)
	go func() { ended <- y.cmd.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("it goes on without its terminal")
	}
	if o := s.deed(nil, "reload"); o.code == 0 || !strings.Contains(o.stderr, "deed serve") {
		t.Errorf("after its end: exit %d, %s", o.code, o.stderr)
	}
	s.noProcess()
}
