package extension

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/contract/settings"
)

// A Manifest describes an extension, in <id>/<id>.json. Keys that are not here are kept in Raw.
type Manifest struct {
	Name    string `json:"name"`
	Version string `json:"version"`

	Lint  *LintSpec  `json:"lint,omitempty"`
	Test  *TestSpec  `json:"test,omitempty"`
	Build *BuildSpec `json:"build,omitempty"`

	Detect             *Detect             `json:"detect,omitempty"`
	Settings           []SettingSpec       `json:"settings,omitempty"`
	Hooks              map[string][]string `json:"hooks,omitempty"`
	Scripts            map[string]string   `json:"scripts,omitempty"` // fingerprint, refactor and the like
	Fingerprint        *FingerprintSpec    `json:"fingerprint,omitempty"`
	Provides           Provides            `json:"provides,omitzero"`
	Requires           Requires            `json:"requires,omitzero"`
	Composition        Composition         `json:"composition,omitzero"`
	AutofixVerify      *AutofixVerify      `json:"autofix_verify,omitempty"`
	StructuredSidecars json.RawMessage     `json:"structured_sidecars,omitempty"`
	Audit              json.RawMessage     `json:"audit,omitempty"`

	Raw json.RawMessage `json:"-"` // the file as it stands
}

// Detect says which files at the top of a component call for an extension. It is deed's own key.
type Detect struct {
	Files []string `json:"files,omitempty"`
	Globs []string `json:"globs,omitempty"` // over paths below the component
	// Fallback extensions are used where no other one is called for.
	Fallback bool `json:"fallback,omitempty"`
	// Tests are globs of test files, and TestKeys by JSON file the dotted keys that declare tests. Where several extensions
	// are called for, one without any such sign is left out of a test run that another has tests for.
	Tests    []string            `json:"tests,omitempty"`
	TestKeys map[string][]string `json:"test_keys,omitempty"`
	// Beside says which tests a fallback extension runs also where another one is called for.
	Beside *Beside `json:"beside,omitempty"`
}

// Beside are tests that are written in no language of the component's own, such as those of its commands.
type Beside struct {
	Tests []string `json:"tests"` // globs
	// Unless are dotted keys by JSON file: where the text behind one has Word, such as a test script that is a call of the runner,
	// the extension of that file runs these tests.
	Unless map[string][]string `json:"unless,omitempty"`
	Word   string              `json:"word,omitempty"`
}

// FingerprintSpec says what scripts.fingerprint can do beyond its contract, which is one process for one file. It is deed's
// own key: a host that does not know it runs the script by its first line.
type FingerprintSpec struct {
	// Interpreter runs the script, with flags that keep it from code and settings of the tree that it looks at.
	Interpreter []string `json:"interpreter,omitempty"`
	// Lines: with the argument --lines the script takes a document on each line, and answers each with a line.
	Lines bool `json:"lines,omitempty"`
}

// LintSpec is the capability lint.
type LintSpec struct {
	Script            string   `json:"extension_script"`
	Steps             []string `json:"steps,omitempty"` // the names that its steps have, for --step and --skip
	ChangedFileRoutes []Route  `json:"changed_file_routes,omitempty"`
}

// A Route sends changed files to one step of a linter.
type Route struct {
	Extensions []string `json:"extensions,omitempty"` // of files, without the dot
	Globs      []string `json:"globs,omitempty"`      // over paths below the component
	Step       string   `json:"step"`
}

// TestSpec is the capability test.
type TestSpec struct {
	Script      string              `json:"extension_script"`
	Steps       []string            `json:"steps,omitempty"`
	ResultParse json.RawMessage     `json:"result_parse,omitempty"` // a spec of package testreport
	Drift       *settings.TestDrift `json:"drift,omitempty"`
}

// BuildSpec is the capability build. The object alone makes the capability: the script may be the component's.
type BuildSpec struct {
	Script             string   `json:"extension_script,omitempty"`
	Steps              []string `json:"steps,omitempty"`
	CommandTemplate    string   `json:"command_template,omitempty"` // with {{script}}
	ScriptNames        []string `json:"script_names,omitempty"`     // of the component, the first that is there
	PreBuildScript     string   `json:"pre_build_script,omitempty"`
	ArtifactPattern    string   `json:"artifact_pattern,omitempty"`
	ArtifactExtensions []string `json:"artifact_extensions,omitempty"`
	CleanupPaths       []string `json:"cleanup_paths,omitempty"`
}

// A SettingSpec is a setting that the extension knows.
type SettingSpec struct {
	ID          string          `json:"id"`
	Type        string          `json:"type,omitempty"`
	Label       string          `json:"label,omitempty"`
	Default     json.RawMessage `json:"default,omitempty"`
	Placeholder string          `json:"placeholder,omitempty"`
}

// Provides says what an extension understands.
type Provides struct {
	FileExtensions []string `json:"file_extensions,omitempty"`
}

// Requires are constraints on the version of the host.
type Requires struct {
	Homeboy string `json:"homeboy,omitempty"`
	Deed    string `json:"deed,omitempty"`
}

// Composition says which other extensions an extension works on top of.
type Composition struct {
	Includes []string `json:"includes,omitempty"`
}

// AutofixVerify is run after fixers wrote files; when it fails they are put back.
type AutofixVerify struct {
	Command     string   `json:"command"`
	Args        []string `json:"args,omitempty"`
	TimeoutSecs int      `json:"timeout_secs,omitempty"` // 0: 120
}

// Has reports whether the extension has a capability.
func (m Manifest) Has(capability string) bool {
	switch capability {
	case runner.Lint:
		return m.Lint != nil && m.Lint.Script != ""
	case runner.Test:
		return m.Test != nil && m.Test.Script != ""
	case runner.Build:
		return m.Build != nil
	}
	return false
}

// Capabilities lists those that the extension has.
func (m Manifest) Capabilities() []string {
	return slices.DeleteFunc(slices.Clone(runner.Capabilities), func(c string) bool { return !m.Has(c) })
}

// kindOf is what JSON has for values of a type.
func kindOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list"
	case reflect.Struct, reflect.Map, reflect.Pointer:
		return "an object"
	}
	return "a number"
}

// decodeManifest reads a manifest: name and version must be there, whatever else it says may be newer than this program.
func decodeManifest(file string, data []byte) (Manifest, error) {
	m := Manifest{Raw: data}
	if err := json.Unmarshal(data, &m); err != nil {
		var wrong *json.UnmarshalTypeError
		var syntax *json.SyntaxError
		switch {
		case errors.As(err, &wrong) && wrong.Field != "":
			return m, fmt.Errorf("%s: %s is a JSON %s (write %s)", place(file, data, wrong.Offset), wrong.Field, wrong.Value, kindOf(wrong.Type))
		case errors.As(err, &syntax):
			return m, fmt.Errorf("%s: it is not JSON: %w", place(file, data, syntax.Offset), err)
		}
		return m, fmt.Errorf("%s: it is not a manifest: %w", file, err)
	}
	var faults []string
	if strings.TrimSpace(m.Name) == "" {
		faults = append(faults, file+": name is missing (write what the extension is called)")
	}
	if strings.TrimSpace(m.Version) == "" {
		faults = append(faults, file+": version is missing (write one, as in 1.0.0)")
	}
	for _, s := range m.scripts() {
		if s.path != "" && !filepath.IsLocal(s.path) {
			faults = append(faults, fmt.Sprintf("%s: %s is %q, which leads out of the extension (name a file below its directory)", file, s.key, s.path))
		}
	}
	if len(faults) > 0 {
		return m, errors.New(strings.Join(faults, "\n"))
	}
	return m, nil
}

type namedScript struct{ key, path string }

// scripts are the files of its own that a manifest names.
func (m Manifest) scripts() []namedScript {
	var list []namedScript
	if m.Lint != nil {
		list = append(list, namedScript{"lint.extension_script", m.Lint.Script})
	}
	if m.Test != nil {
		list = append(list, namedScript{"test.extension_script", m.Test.Script})
	}
	if m.Build != nil {
		list = append(list, namedScript{"build.extension_script", m.Build.Script}, namedScript{"build.pre_build_script", m.Build.PreBuildScript})
	}
	for _, name := range slices.Sorted(maps.Keys(m.Scripts)) {
		list = append(list, namedScript{"scripts." + name, m.Scripts[name]})
	}
	return list
}

// place is file:line:column of an offset.
func place(file string, data []byte, offset int64) string {
	head := string(data[:min(max(offset-1, 0), int64(len(data)))])
	line := strings.LastIndexByte(head, '\n') + 1
	return fmt.Sprintf("%s:%d:%d", file, 1+strings.Count(head, "\n"), 1+len([]rune(head[line:])))
}
