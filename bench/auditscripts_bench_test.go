package bench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deedrun/deed/internal/checks/audit"
	"github.com/deedrun/deed/internal/checks/extension"
)

const scriptFiles = 500

// The audit of 500 files of PHP and of Python, by their own parsers in other processes, against one process that only parses
// them; and a second audit with nothing changed against the first.
func TestBenchAuditScripts(t *testing.T) {
	if os.Getenv("DEED_BENCH") != "1" {
		t.Skip("set DEED_BENCH=1 to measure")
	}
	for _, lang := range []struct {
		id, ext, function string
		bare              []string
	}{
		{
			"php", "php", "<?php\nfunction step%d($limit) {\n%s  return $total;\n}\n",
			[]string{"-r", `foreach (array_slice($argv, 1) as $f) { PhpToken::tokenize(file_get_contents($f), TOKEN_PARSE); }`, "--"},
		},
		{
			"python", "py", "def step%d(limit):\n%s    return total\n",
			[]string{"-c", "import ast, sys\nfor f in sys.argv[1:]:\n    ast.parse(open(f, 'rb').read())\n"},
		},
	} {
		set, err := extension.Find(extension.Places{BuiltIn: filepath.Join(t.TempDir(), "extensions")})
		must(t, err)
		e, err := set.BuiltIn(lang.id)
		must(t, err)
		interpreter := e.Manifest.Fingerprint.Interpreter
		if _, err := exec.LookPath(interpreter[0]); err != nil {
			t.Skipf("missing tool: %s: apt-get install php-cli python3", interpreter[0])
		}
		dir := t.TempDir()
		files := makeScriptTree(t, dir, lang.ext, lang.function)
		age(t, files[len(files)-1])
		cfg := audit.Config{Root: dir, ID: "bench", Scripts: []audit.Script{{
			Path: filepath.Join(e.Path, e.Manifest.Scripts["fingerprint"]), Extensions: []string{lang.ext}, Env: os.Environ(), Digest: e.Digest,
			Interpreter: interpreter, Lines: e.Manifest.Fingerprint.Lines,
		}}}
		var floor, first, second []float64
		for range 3 {
			cfg.Cache = filepath.Join(t.TempDir(), "cache")
			floor = append(floor, seconds(func() {
				c := exec.Command(interpreter[0], append(append(append([]string{}, interpreter[1:]...), lang.bare...), files...)...)
				if out, err := c.CombinedOutput(); err != nil || len(out) > 0 {
					t.Fatalf("%v: %s", err, out)
				}
			}))
			first = append(first, seconds(func() { auditScripts(t, cfg, 0) }))
			second = append(second, seconds(func() { auditScripts(t, cfg, scriptFiles) }))
		}
		line(t, "audit."+lang.id+".first", median(first), median(floor), "s", "<=5")
		line(t, "audit."+lang.id+".second", median(second), median(first), "s", "<=0.2")
	}
}

func auditScripts(t *testing.T, cfg audit.Config, cached int) {
	r, err := audit.Run(t.Context(), cfg)
	must(t, err)
	if r.Summary.FilesParsed != scriptFiles || r.Summary.FilesCached != cached {
		t.Fatalf("%+v %v", r.Summary, r.Unparsed)
	}
}

// makeScriptTree writes files with one long function each, of which no two are alike.
func makeScriptTree(t *testing.T, dir, ext, function string) (files []string) {
	for i := range scriptFiles {
		var b strings.Builder
		for j := range 100 {
			if ext == "php" {
				fmt.Fprintf(&b, "  $total = $total + step%d($limit * %d, 'part %d');\n", i*j, i, j)
			} else {
				fmt.Fprintf(&b, "    total = total + step%d(limit * %d, 'part %d')\n", i*j, i, j)
			}
		}
		name := filepath.Join(dir, fmt.Sprintf("d%d", i/20), fmt.Sprintf("f%d.%s", i, ext))
		must(t, os.MkdirAll(filepath.Dir(name), 0o755))
		must(t, os.WriteFile(name, []byte(fmt.Sprintf(function, i, b.String())), 0o644))
		files = append(files, name)
	}
	return files
}
