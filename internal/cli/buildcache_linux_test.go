package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// cacheProject has a runner that leaves the content of the tree in its cache, and reports as tests what it finds
// there.
const cacheProject = `
-- code.txt --
of the base
-- .deed/extensions/probe/probe.json --
{"name": "probe", "version": "1.0.0", "test": {"extension_script": "test.sh"}}
-- .deed/extensions/probe/test.sh --
#!/bin/sh
set -e
mkdir -p "$XDG_CACHE_HOME"
found=$(cat "$XDG_CACHE_HOME"/left-* 2>/dev/null | sort -u | tr '\n' ';')
cp code.txt "$XDG_CACHE_HOME/left-$(cksum <code.txt | cut -d' ' -f1)"
echo "found: $found"
echo '[{"name": "runs", "status": "passed"}]' >"$DEED_TEST_CASES_FILE"
`

// TestCachesComeFromTheBaseAlone: what runs on the base left in caches is there for a check of an agent's work, and what a
// check of an agent's work left is never used.
func TestCachesComeFromTheBaseAlone(t *testing.T) {
	t.Parallel()
	for _, isolation := range []string{"process", "namespace"} {
		t.Run(isolation, func(t *testing.T) {
			t.Parallel()
			if isolation == "namespace" {
				needBwrap(t)
			}
			s := checkedSite(t, cacheProject)
			script := filepath.Join(s.src, ".deed/extensions/probe/test.sh")
			if err := os.Chmod(script, 0o755); err != nil {
				t.Fatal(err)
			}
			for i, agent := range []string{"echo 'of the first agent' >code.txt", "echo 'of the second agent' >code.txt"} {
				doc, o := s.run(t, "change the code", agent, "--check", "test", "--isolation", isolation)
				if o.code != 0 || doc.Verdict == nil {
					t.Fatalf("agent %d: exit code %d: %s\n%s", i, o.code, o.stdout, o.stderr)
				}
				log, err := os.ReadFile(filepath.Join(doc.Bundle, doc.Verdict.Checks[0].Log))
				if err != nil {
					t.Fatal(err)
				}
				if want := "found: of the base;"; !strings.Contains(string(log), want+"\n") {
					t.Errorf("agent %d: the last run is not to find %q alone:\n%s", i, want, log)
				}
			}
		})
	}
}
