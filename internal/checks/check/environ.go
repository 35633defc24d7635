package check

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/checks/changed"
	"github.com/deedrun/deed/internal/checks/sidecar"
)

// contextVersion is HOMEBOY_EXEC_CONTEXT_VERSION: which set of variables a script can count on.
const contextVersion = "2"

// environ is the environment of the script: what it inherits, then the contract's. A run of deed inside another's has
// nothing of the outer one.
func (r *Request) environ() []string {
	vars := map[string]string{}
	for _, kv := range r.Environ {
		name, value, ok := strings.Cut(kv, "=")
		if ok && !ours(name) {
			vars[name] = value
		}
	}
	maps.Copy(vars, r.Env)
	vars["PATH"] = searchPath(vars["PATH"], vars["HOME"], r.Component.Host == r.Component.Inside)
	maps.Copy(vars, r.Helpers)
	maps.Copy(vars, r.files(r.RunDir.Inside).Env())
	if !r.Options.Plan { // a fixer that finds the file of a plan may only plan
		delete(vars, "HOMEBOY_FIX_PLAN_FILE")
	}
	maps.Copy(vars, r.context())
	maps.Copy(vars, r.Options.environ(r.RunDir.Inside, r.Component.Inside))
	out := make([]string, 0, len(vars))
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		out = append(out, name+"="+vars[name])
	}
	return out
}

// files are the sidecars in a run directory, each where the extension says.
func (r *Request) files(dir string) sidecar.Files {
	f := sidecar.Paths(dir)
	for name, path := range r.Declared {
		_ = f.Declare(name, path) // looked at when the manifest was read
	}
	return f
}

// ours reports whether a variable is one that deed sets for a script, of this run or of one around it. What a user may
// set for scripts to read, such as HOMEBOY_DEBUG or a script's own HOMEBOY_NODE_TEST_COMMAND, is passed on.
func ours(name string) bool {
	switch name {
	case "HOMEBOY_DEBUG", "HOMEBOY_LINT_INCLUDE_WARNINGS":
		return false
	}
	for _, prefix := range []string{"HOMEBOY_RUNTIME_", "HOMEBOY_EXTENSION_", "HOMEBOY_COMPONENT_", "HOMEBOY_SETTINGS_", "HOMEBOY_CHANGED_", "HOMEBOY_COVERAGE", "HOMEBOY_LINT_", "HOMEBOY_FIX_", "DEED_CHECK"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	if strings.HasPrefix(name, "HOMEBOY_") && (strings.HasSuffix(name, "_FILE") || strings.HasSuffix(name, "_DIR")) {
		return true
	}
	return slices.Contains([]string{
		"HOMEBOY_EXEC_CONTEXT_VERSION", "HOMEBOY_STEP", "HOMEBOY_SKIP", "HOMEBOY_SUMMARY_MODE", "HOMEBOY_ERRORS_ONLY", "HOMEBOY_SNIFFS",
		"HOMEBOY_EXCLUDE_SNIFFS", "HOMEBOY_CATEGORY", "HOMEBOY_AUTO_FIX", "HOMEBOY_SKIP_LINT", "HOMEBOY_PLUGIN_PATH", "HOMEBOY_PROJECT_PATH",
		"DEED_BIN", "DEED_STEPS_FILE", "DEED_TEST_CASES_FILE", "DEED_TEST_REPORT_DIR",
	}, name)
}

// context are the variables of every run.
func (r *Request) context() map[string]string {
	settings := string(r.Settings)
	if settings == "" {
		settings = "{}"
	}
	v := map[string]string{
		"HOMEBOY_EXEC_CONTEXT_VERSION": contextVersion,
		"HOMEBOY_EXTENSION_ID":         r.ExtensionID,
		"HOMEBOY_EXTENSION_PATH":       r.Extension,
		"HOMEBOY_COMPONENT_ID":         r.ComponentID,
		"HOMEBOY_COMPONENT_PATH":       r.Component.Inside,
		"HOMEBOY_PROJECT_PATH":         r.Component.Inside,
		"HOMEBOY_SETTINGS_JSON":        settings,
		"DEED_STEPS_FILE":              filepath.Join(r.RunDir.Inside, stepsFile),
	}
	if r.Capability == runner.Build {
		v["HOMEBOY_PLUGIN_PATH"] = r.Component.Inside
	}
	if r.DeedBin != "" {
		v["DEED_BIN"] = r.DeedBin
	}
	return v
}

// Files of the run directory that no sidecar is.
const (
	stepsFile   = "steps.log"
	changedFile = "changed-files.txt"
)

// environ are the variables that follow from what the caller asked for. Nothing is exported empty: for many scripts a
// variable that is there is a yes.
func (o *Options) environ(run, component string) map[string]string {
	v := map[string]string{}
	set := func(name, value string) {
		if value != "" {
			v[name] = value
		}
	}
	flag := func(name string, on bool) {
		if on {
			v[name] = "1"
		}
	}
	set("HOMEBOY_STEP", strings.Join(o.Filter.Only, ","))
	set("HOMEBOY_SKIP", strings.Join(o.Filter.Skip, ","))
	flag("HOMEBOY_SUMMARY_MODE", o.Summary)
	set("HOMEBOY_LINT_FILE", o.File)
	set("HOMEBOY_LINT_GLOB", o.Glob)
	flag("HOMEBOY_ERRORS_ONLY", o.ErrorsOnly)
	set("HOMEBOY_SNIFFS", o.Sniffs)
	set("HOMEBOY_EXCLUDE_SNIFFS", o.NoSniffs)
	set("HOMEBOY_CATEGORY", o.Category)
	flag("HOMEBOY_FIX_ONLY", o.FixOnly)
	flag("HOMEBOY_AUTO_FIX", o.FixOnly && !o.Plan) // older fixers know this name only
	flag("HOMEBOY_SKIP_LINT", o.SkipLint)
	flag("HOMEBOY_COVERAGE", o.Coverage || o.CoverageMin != nil || o.ChangedMin != nil)
	if o.CoverageMin != nil {
		v["HOMEBOY_COVERAGE_MIN"] = strconv.FormatFloat(*o.CoverageMin, 'f', -1, 64)
	}
	set("HOMEBOY_CHANGED_SINCE", o.ChangedSince)
	set("HOMEBOY_CHANGED_TEST_FILES", strings.Join(o.ChangedTests, "\n"))
	if len(o.ChangedFiles) > 0 {
		v["HOMEBOY_LINT_CHANGED_FILES_FILE"] = filepath.Join(run, changedFile)
		if o.Glob == "" {
			set("HOMEBOY_LINT_GLOB", changed.Glob(component, o.ChangedFiles))
		}
	}
	return v
}

// searchPath adds the places where people have their tools and that a login shell would have put there. Those that the
// user has already keep their order and come first.
func searchPath(path, home string, onHost bool) string {
	if path == "" {
		path = "/usr/local/bin:/usr/bin:/bin"
	}
	if !onHost {
		return path
	}
	have := filepath.SplitList(path)
	extra := []string{"/usr/local/bin", "/opt/homebrew/bin"}
	if home != "" {
		extra = append([]string{filepath.Join(home, ".local", "bin"), filepath.Join(home, ".cargo", "bin")}, extra...)
	}
	for _, dir := range extra {
		if fi, err := os.Stat(dir); err == nil && fi.IsDir() && !slices.Contains(have, dir) {
			have = append(have, dir)
		}
	}
	return strings.Join(have, string(filepath.ListSeparator))
}
