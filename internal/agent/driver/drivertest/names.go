package drivertest

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deedrun/deed/internal/agent/driver"
)

// Names checks what a driver makes of the name that its agent's program gives a conversation. event is the event that tells
// it, with the name as JSON. A name that is good resumes the conversation, also where nothing else is known of it because
// deed died in the middle of a turn; a name that is an option, or no name, gets on no command line.
func Names(t *testing.T, h Harness, event func(id string) string) {
	t.Helper()
	for id, good := range map[string]bool{
		"T-1": true, "0199-af_x.9": true,
		"--settings=/workspace/evil.json": false, "-x": false, "a b": false, "a\nb": false, "": false, "\u202ea": false, strings.Repeat("x", 300): false,
	} {
		text, err := json.Marshal(id)
		if err != nil {
			t.Fatal(err)
		}
		line := "'" + strings.ReplaceAll(event(string(text)), "'", `'\''`) + "'"
		b := New(t, h, `printf '%s\0' "$@" >"$DEED_WORKSPACE/seen"; event `+line+`; finish '{"status": "completed", "operator_summary": "x"}'`)
		s, err := h.Driver.Start(t.Context(), b.Job)
		if err != nil {
			t.Fatal(err)
		}
		turn := func(s driver.Session, n int) []string {
			if _, err := s.Turn(t.Context(), driver.Input{Turn: n, Text: "Go on."}, b); err != nil {
				t.Fatal(err)
			}
			return strings.Split(b.ReadFile(filepath.Join(b.Job.Dirs.Workspace, "seen")), "\x00")
		}
		turn(s, 1)
		if args := turn(s, 2); slices.Contains(args, id) != good && id != "" {
			t.Errorf("%.40q: the next turn has %q", id, args)
		}
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
		b.Job.Resume = b.savedRef()
		if (b.Job.Resume == id) != good && id != "" {
			t.Errorf("%.40q: told as %.40q", id, b.Job.Resume)
		}
		if !good {
			continue
		}
		if s, err = h.Driver.Start(t.Context(), b.Job); err != nil {
			t.Fatal(err)
		}
		if args := turn(s, 3); !slices.Contains(args, id) {
			t.Errorf("%.40q: the turn after a crash has %q", id, args)
		}
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// savedRef is the name of the conversation that was reported last.
func (b *Bench) savedRef() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	id := ""
	for _, e := range b.events {
		if s, ok := e.detail.(driver.SessionInfo); ok {
			id = s.ID
		}
	}
	return id
}
