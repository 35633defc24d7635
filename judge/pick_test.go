package main

import (
	"slices"
	"testing"
)

// A choice is the same each time, has no more than was asked for, and once has each case exactly once.
func TestChoices(t *testing.T) {
	t.Parallel()
	projects, err := load([]string{"projects"})
	if err != nil {
		t.Fatal(err)
	}
	all := allTrials(projects)
	id := trial.ID
	if a, b := ids(pick(all, 50), id), ids(pick(all, 50), id); len(a) != 50 || !slices.Equal(a, b) {
		t.Errorf("%d, %v and %v", len(a), a, b)
	}
	if a, b := ids(pick(all, 20), id), ids(pick(all, 50), id); !slices.Equal(a, b[:20]) {
		t.Errorf("a choice of 50 begins with %v, want the choice of 20: %v", b[:20], a)
	}
	seen, forms := map[*attempt]int{}, map[string]int{}
	for _, x := range once(all) {
		seen[x.attempt]++
		forms[x.Form]++
	}
	for _, p := range projects {
		for _, a := range p.Cases {
			if seen[a] != 1 {
				t.Errorf("%s/%s is there %d times", p.Name, a.Name, seen[a])
			}
		}
	}
	for _, f := range []string{formShell, formCapability, formSteps, formHidden} {
		if forms[f] < len(seen)/8 {
			t.Errorf("%s has %d of %d", f, forms[f], len(seen))
		}
	}
}

func ids(all []trial, of func(trial) string) []string {
	out := make([]string, len(all))
	for i, t := range all {
		out[i] = of(t)
	}
	return out
}
