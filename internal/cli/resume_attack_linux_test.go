package cli

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/base/crashpoint"
	"github.com/deedrun/deed/internal/base/failure"
)

// attacked is a task on a project with a file that must not change.
func (s *site) attacked(args ...string) []string {
	list := []string{
		"run", "--json", "--workspace", "project", "--agent", "steps", "--check", onceEach, "--isolation", "process", "--protect", "test_calc.py",
		"--max-recoveries", "0",
	}
	return append(append(list, args...), "write the words one, two and three, each once")
}

// TestAKeptDirectoryIsNotBelieved lets an agent that is not contained change its attempt's directory at will before deed is
// killed. What is resumed after that is judged by what the store knows; an attempt that does not fit starts from scratch, and
// says why.
func TestAKeptDirectoryIsNotBelieved(t *testing.T) {
	t.Parallel()
	must := func(errs ...error) {
		for _, err := range errs {
			if err != nil {
				panic(err)
			}
		}
	}
	put := func(text string, path ...string) { must(os.WriteFile(filepath.Join(path...), []byte(text), 0o600)) }
	link := func(to string, path ...string) {
		p := filepath.Join(path...)
		must(os.RemoveAll(p), os.Symlink(to, p))
	}
	for name, tc := range map[string]struct {
		do      func(dir, outside string)
		resumed bool
	}{
		"a planted checkpoint": {func(dir, _ string) { put(`{"recoveries": -99, "base_digest": "sha256:0"}`, dir, "checkpoint.json") }, true},
		"the base": {func(dir, _ string) {
			for _, tree := range []string{"base", "workspace"} {
				put("print('ok')\n", dir, tree, "test_calc.py")
			}
		}, false},
		"no base":                   {func(dir, _ string) { must(os.RemoveAll(filepath.Join(dir, "base"))) }, false},
		"no workspace":              {func(dir, _ string) { must(os.RemoveAll(filepath.Join(dir, "workspace"))) }, false},
		"no conversation":           {func(dir, _ string) { must(os.Remove(filepath.Join(dir, "run", "conversation.jsonl"))) }, false},
		"an empty conversation":     {func(dir, _ string) { put("", dir, "run", "conversation.jsonl") }, false},
		"a garbled conversation":    {func(dir, _ string) { put("{}\n{}\n", dir, "run", "conversation.jsonl") }, false},
		"an endless conversation":   {func(dir, _ string) { put(strings.Repeat("x", 9<<20), dir, "run", "conversation.jsonl") }, false},
		"another conversation":      {func(dir, _ string) { forge(dir) }, false},
		"a conversation that waits": {func(dir, _ string) { fifo(dir, "run", "conversation.jsonl") }, false},
		"a journal that waits":      {func(dir, _ string) { fifo(dir, "journal.jsonl") }, true},
		"an output that waits":      {func(dir, _ string) { fifo(dir, "run", "stdout-2.log") }, false},
		"a base that waits":         {func(dir, _ string) { fifo(dir, "base", "waits") }, false},
		"a conversation elsewhere":  {func(dir, out string) { link(filepath.Join(out, "secret"), dir, "run", "conversation.jsonl") }, false},
		"outputs elsewhere":         {func(dir, out string) { link(out, dir, "run", "tools") }, false},
		"a journal elsewhere":       {func(dir, out string) { link(filepath.Join(out, "secret"), dir, "journal.jsonl") }, true},
		"a workspace elsewhere":     {func(dir, out string) { link(out, dir, "workspace") }, false},
		"a base elsewhere":          {func(dir, out string) { link(out, dir, "base") }, false},
		"a record elsewhere":        {func(dir, out string) { link(out, dir, "run") }, false},
		"artifacts elsewhere":       {func(dir, out string) { link(out, dir, "artifacts") }, false},
		"a home elsewhere":          {func(dir, out string) { link(out, dir, "home") }, false},
		"an exchange elsewhere":     {func(dir, out string) { link(out, dir, "exchange") }, false},
		"all of it elsewhere": {func(dir, out string) {
			must(os.Rename(dir, filepath.Join(out, "moved")), os.Symlink(filepath.Join(out, "moved"), dir))
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := crashSite(t, "native", "steps")
			s.killedAt(string(crashpoint.LoopSettled), s.attacked()...)
			outside := filepath.Join(s.dir, "outside")
			if err := os.MkdirAll(outside, 0o700); err != nil {
				t.Fatal(err)
			}
			const secret = "what is outside 7c1f09"
			writeFile(t, filepath.Join(outside, "secret"), secret)
			kept := s.kept()
			if len(kept) != 1 {
				t.Fatalf("kept: %v", kept)
			}
			tc.do(kept[0], outside)
			st := s.open()
			id := s.only(st).ID()
			doc, o := s.resume(id)
			if o.code != ExitDone || doc.Resumed != tc.resumed {
				t.Fatalf("exit %d: %+v\n%s", o.code, doc, o.stderr)
			}
			if strings.Join(doc.Files, " ") != "effects" {
				t.Errorf("changed: %v", doc.Files)
			}
			journals := s.journals(st, id)
			if last := journals[len(journals)-1]; (last["begins_anew"] > 0) == tc.resumed {
				t.Errorf("it does not say whether it began anew: %v", last)
			}
			if data, err := os.ReadFile(filepath.Join(outside, "secret")); err != nil || string(data) != secret {
				t.Errorf("what is outside was changed: %q %v", data, err)
			}
			for _, dir := range []string{"bundles", "attempts"} {
				s.lacks(filepath.Join(s.home, dir), secret)
			}
			s.completed(st, id, 1)
		})
	}
}

func fifo(path ...string) {
	p := filepath.Join(path...)
	_ = os.Remove(p)
	if err := syscall.Mkfifo(p, 0o600); err != nil {
		panic(err)
	}
}

// forge gives the conversation another id.
func forge(dir string) {
	p := filepath.Join(dir, "run", "conversation.jsonl")
	data, err := os.ReadFile(p)
	if err != nil {
		panic(err)
	}
	i := strings.Index(string(data), `"id":"`) + len(`"id":"`)
	if err := os.WriteFile(p, append(append(append([]byte{}, data[:i]...), "00000000"...), data[i+8:]...), 0o600); err != nil {
		panic(err)
	}
}

// A change around a task since it was interrupted is reported, or the task starts from scratch. It is never resumed
// silently.
func TestResumeAfterChanges(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(s *site)
		code   int
		says   string // on stderr, when it is refused
	}{
		"the adapter is gone": {func(s *site) { s.replace("  steps: {kind", "  other: {kind") }, ExitUsage, "steps"},
		"the adapter is another": {func(s *site) {
			writeFile(s.t, filepath.Join(s.dir, "deed.yaml"), "adapters: {steps: {kind: script, command: ./agent.sh, timeout_ms: 60000}}\n")
			if err := os.WriteFile(filepath.Join(s.dir, "agent.sh"), []byte("#!/bin/sh\nprintf 'one\\ntwo\\nthree\\n' > effects\necho '{\"status\": \"completed\"}'\n"), 0o700); err != nil {
				s.t.Fatal(err)
			}
		}, ExitDone, ""},
		"the workspace is gone":    {func(s *site) { _ = os.RemoveAll(filepath.Join(s.dir, "project")) }, ExitDone, ""},
		"the key is gone":          {func(s *site) { s.replace("SCRIPTED_KEY: sk-scripted-0f91c7", "OTHER: x") }, ExitUsage, "SCRIPTED_KEY"},
		"the home has other parts": {func(s *site) { _ = os.RemoveAll(filepath.Join(s.kept()[0], "exchange")) }, ExitDone, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := crashSite(t, "native", "steps")
			s.killedAt(string(crashpoint.LoopSettled), s.attacked()...)
			tc.change(s)
			st := s.open()
			id := s.only(st).ID()
			o := s.deed(nil, "task", "resume", id)
			if o.code != tc.code || !strings.Contains(o.stderr, tc.says) {
				t.Fatalf("exit %d: %s%s", o.code, o.stdout, o.stderr)
			}
			got := status(t, st, id)
			if tc.code == ExitUsage && got != agentruntime.TaskRetryableFailure || tc.code == ExitDone && got != agentruntime.TaskCompleted {
				t.Errorf("the task is %s", got)
			}
		})
	}
}

// An isolated agent does not even see deed's record of it.
func TestAContainedAgentDoesNotSeeItsRecord(t *testing.T) {
	needBwrap(t)
	t.Parallel()
	s := crashSite(t, "native", "prying")
	o := s.deed(nil, "run", "--json", "--no-workspace", "--agent", "prying", "--isolation", "namespace", "--check", "test -s found", "--max-recoveries", "0", "look around")
	if o.code != ExitNotDone || !strings.Contains(o.stdout, string(failure.Rejected)) {
		t.Fatalf("exit %d: %s%s", o.code, o.stdout, o.stderr)
	}
}
