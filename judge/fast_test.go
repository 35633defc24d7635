package main

import (
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/deedrun/deed/internal/cli/binarytest"
)

// The fast part of the corpus is judged as it is labelled, but for what known.yaml lists with its reason. What that lists and is right
// now fails, too: the list stays true.
func TestFastPart(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("short: runs deed many times")
	}
	projects, err := load([]string{"projects"})
	if err != nil {
		t.Fatal(err)
	}
	all := allTrials(projects)
	list, err := readList("fast.txt")
	if err != nil {
		t.Fatal(err)
	}
	known, err := loadKnown("known.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range known.strangers(all) {
		t.Errorf("known.yaml lists %s, which is not in the corpus: take it out", id)
	}
	s := &session{
		runner: runner{deed: binarytest.Deed(t), deadline: 5 * time.Minute}, work: t.TempDir(), store: filepath.Join("..", ".cache", "observe", "node_modules"),
		parallel: max(runtime.GOMAXPROCS(0), 2), report: func(outcome) {},
	}
	if s.store, err = filepath.Abs(s.store); err != nil {
		t.Fatal(err)
	}
	chosen, missing := s.choose(t, all, list)
	outcomes, err := s.run(t.Context(), chosen)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range known.surprises(outcomes) {
		t.Error(m)
	}
	t.Logf("%d trials: %+v", len(outcomes), *count(outcomes).Total)
	for name, what := range missing {
		t.Run(name, func(t *testing.T) {
			t.Skipf("missing tool: %s: make setup says how to get it", what)
		})
	}
}

// choose returns the trials of a list that can be run here, and what is missing for the others.
func (s *session) choose(t *testing.T, all []trial, list []string) (chosen []trial, missing map[string]string) {
	t.Helper()
	missing = map[string]string{}
	for _, id := range list {
		i := slices.IndexFunc(all, func(x trial) bool { return x.ID() == id })
		if i < 0 {
			t.Errorf("fast.txt lists %s, which is not in the corpus", id)
			continue
		}
		if what := s.missing(all[i].Project); what != "" {
			missing[all[i].Project.Name] = what
			continue
		}
		chosen = append(chosen, all[i])
	}
	return chosen, missing
}
