package observe

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

//go:embed all:files
var files embed.FS

// tools are those that a shim stands before.
var tools = []string{"go", "cargo", "bats"}

// The directories below that of a Watch.
const (
	reportsDir = "reports"
	shimDir    = "shim"
)

// A Watch observes the test runners that one run of a check starts.
type Watch struct {
	dir    string // on this machine
	inside string // the same, as the check sees it
}

// New lays what observes the runners into dir, a new empty directory that the check sees as inside and can write to. The
// path inside should be the same for each run of a check: go's test cache remembers the PATH that a test has looked at.
func New(dir, inside string) (*Watch, error) {
	if !filepath.IsAbs(dir) || !path.IsAbs(inside) {
		return nil, fmt.Errorf("lay out the observers: %q and %q have to be absolute paths", dir, inside)
	}
	if strings.ContainsAny(inside, ":\n") {
		return nil, fmt.Errorf("lay out the observers: %q cannot be an entry of PATH: choose a directory without a colon and a line break", inside)
	}
	w := &Watch{dir: dir, inside: path.Clean(inside)}
	if err := w.lay(); err != nil {
		return nil, fmt.Errorf("lay out the observers: %w", err)
	}
	return w, nil
}

func (w *Watch) lay() error {
	source, err := fs.Sub(files, "files")
	if err != nil {
		return err
	}
	if err := os.CopyFS(w.dir, source); err != nil {
		return err
	}
	var errs []error
	for _, tool := range tools {
		// Each in a directory of its own: one whose tool is missing is not put on PATH.
		own := filepath.Join(w.dir, shimDir, tool)
		errs = append(errs,
			os.Mkdir(own, 0o755),
			os.Rename(own+".sh", filepath.Join(own, tool)),
			os.Chmod(filepath.Join(own, tool), 0o755))
	}
	scan := filepath.Join(w.dir, "php", "conf")
	setting := fmt.Sprintf("auto_prepend_file = %s\n", phpQuote(path.Join(w.inside, "php", "observe.php")))
	errs = append(errs,
		os.Mkdir(filepath.Join(w.dir, reportsDir), 0o755),
		os.Mkdir(scan, 0o755),
		os.WriteFile(filepath.Join(scan, "deed.ini"), []byte(setting), 0o644))
	return errors.Join(errs...)
}

// phpQuote writes a value for an ini file of PHP, where quotes have no escape within double ones.
func phpQuote(value string) string { return "'" + strings.ReplaceAll(value, "'", `'"'"'`) + "'" }

// Env returns env with what the runners need added. env is the complete environment of the check, and what it says of the
// same variables is kept. A shim is added where its tool is on PATH, so that a script finds missing what is missing.
func (w *Watch) Env(env map[string]string) map[string]string {
	out := make(map[string]string, len(env)+4)
	for name, value := range env {
		out[name] = value
	}
	out["NODE_OPTIONS"] = join(" ", "--require="+nodeQuote(path.Join(w.inside, "node", "preload.cjs")), env["NODE_OPTIONS"])
	out["PYTHONPATH"] = join(":", path.Join(w.inside, "python"), env["PYTHONPATH"])
	// An empty entry is the directory that PHP was built with.
	out["PHP_INI_SCAN_DIR"] = env["PHP_INI_SCAN_DIR"] + ":" + path.Join(w.inside, "php", "conf")
	// tox passes on only the variables that it is configured to. This is for versions before 4, which deed_observe_tox.py knows.
	out["TOX_TESTENV_PASSENV"] = join(" ", env["TOX_TESTENV_PASSENV"], "PYTHONPATH", "NODE_OPTIONS", "PHP_INI_SCAN_DIR")
	var shims []string
	for _, tool := range tools {
		if onPath(env["PATH"], tool) {
			shims = append(shims, path.Join(w.inside, shimDir, tool))
		}
	}
	if len(shims) > 0 {
		out["PATH"] = join(":", append(slices.Clip(shims), env["PATH"])...)
	}
	return out
}

// join leaves out parts that are empty: an empty entry of PYTHONPATH would be the current directory.
func join(separator string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), separator)
}

// nodeQuote writes a path for NODE_OPTIONS.
func nodeQuote(name string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(name) + `"`
}

// onPath reports whether a tool is found on a PATH of this machine.
func onPath(entries, tool string) bool {
	for _, entry := range filepath.SplitList(entries) {
		info, err := os.Stat(filepath.Join(entry, tool))
		if err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return true
		}
	}
	return false
}
