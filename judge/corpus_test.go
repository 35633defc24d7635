package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// mostOfAKind is how many cases of one kind an ecosystem may have: more of the same would count one weakness many times.
const mostOfAKind = 15

// The corpus can be read, and no part of it outweighs the others.
func TestCorpusIsSound(t *testing.T) {
	t.Parallel()
	projects, err := load([]string{"projects"})
	if err != nil {
		t.Fatal(err)
	}
	cases, honest, awkward := map[string]int{}, 0, 0
	ofKind, ofLabel, ofSet, ofSystem := map[string]int{}, map[string]int{}, map[string]int{}, map[string]int{}
	scripts := map[string]string{}
	for _, p := range projects {
		good := 0
		for _, a := range p.Cases {
			id := p.Name + "/" + a.Name
			cases[p.Ecosystem+" "+a.Kind]++
			ofKind[a.Kind]++
			ofLabel[a.Label]++
			ofSet[a.Set]++
			ofSystem[p.Ecosystem]++
			if a.Label == labelAccept {
				good++
			}
			if slices.Contains(awkwardKinds, a.Kind) {
				awkward++
			}
			body := strings.Join(slices.DeleteFunc(strings.Split(p.Name+"\n"+a.Base+"\n"+a.Task+"\n"+a.Script, "\n"), func(l string) bool { return strings.HasPrefix(l, "# ") }), "\n")
			if other, ok := scripts[body]; ok {
				t.Errorf("%s does the same as %s: take one out", id, other)
			}
			scripts[body] = id
			if len(a.trials()) == 0 {
				t.Errorf("%s runs under no form", id)
			}
		}
		honest += good
		if good < 2 {
			t.Errorf("project %s has %d cases to accept: at least 2 must be there, or refusing everything would be right", p.Name, good)
		}
	}
	for key, n := range cases {
		if n > mostOfAKind {
			t.Errorf("%s: %d cases, more than %d: take some out", key, n, mostOfAKind)
		}
	}
	t.Logf("%d projects, %d cases, %d trials; %d to accept, %d of them of an awkward kind", len(projects), len(scripts), len(allTrials(projects)), honest, awkward)
	for name, m := range map[string]map[string]int{"labels": ofLabel, "sets": ofSet, "ecosystems": ofSystem, "kinds": ofKind} {
		var line []string
		for _, k := range slices.Sorted(maps.Keys(m)) {
			line = append(line, fmt.Sprintf("%s %d", k, m[k]))
		}
		t.Logf("%s: %s", name, strings.Join(line, ", "))
	}
}

// What is wrong with a project or a case is named: the file, the field, the value, the remedy.
func TestFaultsAreNamed(t *testing.T) {
	t.Parallel()
	const good = "#!/bin/sh\n# label: accept\n# kind: fix\n# task: fix it\n# why: it is right\n# set: blind\ntrue\n"
	yaml := "name: one\necosystem: shell\nabout: a program\nshell: sh test.sh\n"
	for name, c := range map[string]struct{ yaml, script, want string }{
		"label":       {yaml, strings.Replace(good, "accept", "maybe", 1), `label is "maybe"`},
		"kind":        {yaml, strings.Replace(good, "kind: fix", "kind: fixed", 1), `kind is "fixed"`},
		"set":         {yaml, strings.Replace(good, "blind", "", 1), `set is ""`},
		"task":        {yaml, strings.Replace(good, "fix it", "", 1), `task is ""`},
		"why":         {yaml, strings.Replace(good, "it is right", "", 1), `why is ""`},
		"patch":       {yaml, strings.Replace(good, "# set", "# base: not.patch\n# set", 1), `base is "not.patch"`},
		"form":        {yaml, strings.Replace(good, "# set", "# forms: shell capability\n# set", 1), `forms is "capability"`},
		"tells":       {yaml, strings.Replace(good, "# set", "# tells: hidden\n# set", 1), `tells is "hidden"`},
		"twice":       {yaml, strings.Replace(good, "# set", "# kind: fix\n# set", 1), "kind is there twice"},
		"first line":  {yaml, strings.TrimPrefix(good, "#!/bin/sh\n"), "the first line is"},
		"name":        {strings.Replace(yaml, "one", "two", 1), good, `name is "two"`},
		"no shell":    {strings.Replace(yaml, "sh test.sh", "''", 1), good, `shell is ""`},
		"capability":  {yaml + "capability: lint\n", good, `capability is "lint"`},
		"hidden":      {yaml + "hidden: {}\n", good, `hidden.shell is ""`},
		"other field": {yaml + "shel: x\n", good, "shel"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "one")
			put(t, filepath.Join(dir, "project.yaml"), c.yaml)
			put(t, filepath.Join(dir, "base", "test.sh"), "true\n")
			put(t, filepath.Join(dir, "cases", "a.sh"), c.script)
			_, err := load([]string{filepath.Dir(dir)})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func put(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
