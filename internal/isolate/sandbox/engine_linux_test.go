//go:build linux && (amd64 || arm64)

package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// One failed question does not rule out an engine, unless its runtime is missing. An engine that makes no containers is reported with all of its faults.
func TestTryEngine(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		without string // the runtime that is not installed
		create  string // what the engine does when it is to make a container, with a file to remember by in $seen
		want    string // the runtime that was found, or the fault
	}{
		"works":     {"", "exit 0", "1.2 with crun"},
		"elsewhere": {"crun", "exit 0", "1.2 with crun"},
		"once":      {"crun", `[ "$runtime" = runc ] && exit; [ -e "$seen" ] && exit 0; touch "$seen"; exit 125`, "1.2 with runc"},
		"disturbed": {"", `[ "$runtime" = runc ] && [ -e "$seen" ] && exit; [ "$runtime" = runc ] && touch "$seen"; echo "no $runtime" >&2; exit 125`, "1.2 with runc"},
		"broken":    {"", `echo "no $runtime" >&2; exit 125`, "podman with crun: PODMAN: exit 125: no crun; podman with runc: PODMAN: exit 125: no runc"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			podman := filepath.Join(dir, "podman")
			script := "#!/bin/sh\nseen=" + filepath.Join(dir, "seen") + "\nruntime=$4\ncase $5 in\nversion) echo 1.2 ;;\ncreate) " + c.create + " ;;\nesac\n"
			if err := os.WriteFile(podman, []byte(script), 0o700); err != nil {
				t.Fatal(err)
			}
			e, err := tryEngine(t.Context(), podman, func(runtime string) bool { return runtime != c.without })
			got := e.version
			if err != nil {
				got = strings.ReplaceAll(err.Error(), podman, "PODMAN")
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
