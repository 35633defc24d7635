package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A run that is interrupted gives the verdicts that were reached, and evidence that an earlier run kept is replaced.
func TestInterruptedRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, filepath.Join(dir, "one", "base", "a.txt"), "a\n")
	put(t, filepath.Join(dir, "bundle", "files", "verdict.json"), "{}\n")
	put(t, filepath.Join(dir, "deed"), "#!/bin/sh\necho '"+`{"status": "completed", "bundle": "`+filepath.Join(dir, "bundle")+
		`", "verdict": {"schema": "deed/verdict/v1", "accepted": true, "reasons": []}}`+"'\n")
	if err := os.Chmod(filepath.Join(dir, "deed"), 0o700); err != nil {
		t.Fatal(err)
	}
	p := &project{Name: "one", Dir: filepath.Join(dir, "one"), Shell: "true"}
	var trials []trial
	for _, name := range []string{"a", "b", "c"} {
		trials = append(trials, trial{&attempt{Project: p, Name: name, Label: labelReject, Task: "work", Script: "true\n"}, formShell})
	}
	p.Cases = []*attempt{trials[0].attempt, trials[1].attempt, trials[2].attempt}
	keep := filepath.Join(dir, "keep")
	for range 2 {
		ctx, stop := context.WithCancel(t.Context())
		s := &session{runner: runner{deed: filepath.Join(dir, "deed"), deadline: time.Minute}, work: t.TempDir(), parallel: 1, keep: keep}
		s.report = func(outcome) { stop() }
		got, err := s.run(ctx, trials)
		if err != nil || len(got) != 1 || got[0].Trial != "one/a:shell" || got[0].Score != falseAccept {
			t.Errorf("got %+v, %v", got, err)
		}
	}
	if _, err := os.Stat(filepath.Join(keep, "one-a-shell", "bundle", "files", "verdict.json")); err != nil {
		t.Error(err)
	}
}
