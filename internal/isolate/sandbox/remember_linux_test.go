//go:build linux && (amd64 || arm64)

package sandbox

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestMemoryIsOfOneBubblewrap(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, bwrap, other := filepath.Join(dir, "memory.json"), filepath.Join(dir, "bwrap"), filepath.Join(dir, "other")
	for _, p := range []string{bwrap, other} {
		if err := os.WriteFile(p, []byte("#!/bin/sh\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := recall(file, bwrap); got != "" {
		t.Errorf("without a file: %q", got)
	}
	keep(file, bubblewrap{path: bwrap, version: "0.11.0"})
	if got := recall(file, bwrap); got != "0.11.0" {
		t.Errorf("remembered %q", got)
	}
	if got := recall(file, other); got != "" {
		t.Errorf("another bubblewrap: %q", got)
	}
	if got := recall("", bwrap); got != "" {
		t.Errorf("no file named: %q", got)
	}
	old := time.Unix(1_000_000_000, 0)
	if err := os.Chtimes(bwrap, old, old); err != nil {
		t.Fatal(err)
	}
	if got := recall(file, bwrap); got != "" {
		t.Errorf("a bubblewrap that was replaced: %q", got)
	}
	keep(file, bubblewrap{path: bwrap, version: "0.11.0"})
	if err := os.Remove(bwrap); err != nil {
		t.Fatal(err)
	}
	if got := recall(file, bwrap); got != "" {
		t.Errorf("a bubblewrap that is gone: %q", got)
	}
	for _, text := range []string{"", "{", `{"of":"","version":"1"}`, `[]`, `{"of":"x","version":"1"}`} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := recall(file, other); got != "" {
			t.Errorf("%q: remembered %q", text, got)
		}
	}
}
