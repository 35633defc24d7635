package runtimepkg

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/base/plainfile"
)

// How much a finding matters.
const (
	Error   = "error"   // the package, or the provider, cannot be used
	Warning = "warning" // the contract asks for something else, and it runs all the same
)

// A Finding is something about a package that its author should fix.
type Finding struct {
	Severity string `json:"severity"`
	Path     string `json:"path"` // a JSON path into the manifest, or a file of the package
	Code     string `json:"code"`
	Message  string `json:"message"`
	Remedy   string `json:"remedy,omitempty"`
}

func (f Finding) String() string {
	return fault.Fault{Path: f.Path, Message: f.Message, Remedy: f.Remedy}.String()
}

// Codes of findings that no fault has.
const (
	DirectoryWins = "directory_name" // the manifest has another id than its directory
	SelfAlias     = "self_alias"     // a package declares an alias for itself
	MissingFile   = "missing_file"   // a file that the manifest names, or the contract asks for
	OutsideFile   = "outside_file"   // it needs files that are not its own
	SecretValue   = "secret_value"   // a value where a name belongs
)

// Usable reports whether any finding is an error.
func Usable(list []Finding) bool {
	return !slices.ContainsFunc(list, func(f Finding) bool { return f.Severity == Error })
}

// Lint reads the package in a directory and says everything that is wrong with it, the files that it names included. The
// error is for what is no package at all.
func Lint(dir string) (*Package, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	id := filepath.Base(abs)
	if !isPackage(abs, id) {
		ids := manifestsIn(abs)
		if len(ids) != 1 {
			return nil, fmt.Errorf("%s: there is no %s.json in it (name the directory of a package)", dir, id)
		}
		id = ids[0]
	}
	p, err := load(entry{id: id, path: abs, from: FromDir})
	if err != nil {
		return nil, err
	}
	p.Findings = append(p.Findings, p.lintFiles()...)
	return p, nil
}

// installable reads a package that is about to be installed, and refuses one that could not be used.
func installable(dir, id string) (*Package, error) {
	p, err := load(entry{id: id, path: dir, from: FromDir})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	if p.Manifest.ID != "" && p.Manifest.ID != id {
		return nil, fmt.Errorf("%w: %s.json says that its id is %q (the file, its id and the directory have one name)", ErrRefused, id, p.Manifest.ID)
	}
	p.Findings = append(p.Findings, p.lintFiles()...)
	if Usable(p.Findings) {
		return p, nil
	}
	var why []string
	for _, f := range p.Findings {
		if f.Severity == Error {
			why = append(why, f.String())
		}
	}
	return nil, fmt.Errorf("%w: %s", ErrRefused, strings.Join(why, "\n"))
}

// lint says what is wrong with a manifest as it stands, without a look at other files.
func lint(p *Package, warnings []homeboy.Warning) []Finding {
	var out []Finding
	m := p.Manifest
	if m.ID != p.ID && m.ID != "" {
		out = append(out, Finding{Warning, "$.id", DirectoryWins, fmt.Sprintf("says %q, and the directory says %q, which counts", m.ID, p.ID), "give both one name"})
	}
	m.ID = p.ID
	for _, f := range fault.Of(m.Validate()) {
		out = append(out, Finding{severityOf(f), f.Path, f.Code, f.Message, f.Remedy})
	}
	for _, w := range warnings {
		out = append(out, Finding{Warning, w.Path, w.Code, w.Message, ""})
	}
	for _, f := range m.Lint() {
		out = append(out, Finding{Warning, f.Path, f.Code, f.Message, f.Remedy})
	}
	return slices.Concat(out, lintAliases(p), lintProviders(p))
}

// severityOf is an error but for a manifest that leaves its schema out: it can only be one.
func severityOf(f fault.Fault) string {
	if f.Path == "$.schema" && f.Code == fault.MissingField {
		return Warning
	}
	return Error
}

func lintAliases(p *Package) []Finding {
	var out []Finding
	for _, key := range []string{"alias", "aliases", "compatibility_aliases", "deprecated_aliases"} {
		if _, there := p.Manifest.Extra[key]; there {
			out = append(out, Finding{Warning, fault.Field(fault.Root, key), SelfAlias, "a package cannot declare an alias for itself; it is not used", "take it out, and publish the canonical id alone"})
		}
	}
	if d := aliasOf(p.ID); d != nil {
		out = append(out, Finding{Warning, "$.id", SelfAlias, d.String(), "call the package by its canonical id"})
	}
	return out
}

func lintProviders(p *Package) []Finding {
	var out []Finding
	for i, x := range p.Manifest.AgentTaskExecutors {
		at := fault.Index("$.agent_task_executors", i)
		if x.Status == homeboy.StatusDeprecated && replacementOf(x) == "" {
			out = append(out, Finding{Warning, at + ".replacement", fault.MissingField, "is missing in a provider that is deprecated", "name the provider that takes its place"})
		}
		if _, err := p.Command(x); err != nil && strings.TrimSpace(x.Command) != "" {
			out = append(out, Finding{Error, at + ".command", fault.BadFormat, err.Error(), ""})
		}
		for j, s := range x.SecretRequirements {
			if _, there := s.Extra["value"]; there {
				out = append(out, Finding{Warning, fault.Index(at+".secret_requirements", j) + ".value", SecretValue, "a manifest names secrets and never holds their values", "take it out, and change the secret"})
			}
		}
		for j, r := range x.RunnerReadiness {
			if r.Executable == nil && r.EnvPath == nil && r.Invocation == nil && len(r.SecretEnv) == 0 && len(r.RequiredExtensions) == 0 {
				out = append(out, Finding{Warning, fault.Index(at+".runner_readiness", j), fault.Blank, "checks nothing that deed knows", "give it executable, env_path, secret_env or invocation"})
			}
		}
		if d := x.DefaultBackend; d != nil && *d {
			out = append(out, Finding{Warning, at + ".default_backend", fault.Conflict, "is not used: which backend is the default is the caller's to say", "take it out"})
		}
	}
	return out
}

// lintFiles looks at the files that the contract asks for, and at those that the manifest names.
func (p *Package) lintFiles() []Finding {
	var out []Finding
	if _, err := os.Stat(filepath.Join(p.Real, "README.md")); err != nil {
		out = append(out, Finding{Warning, "README.md", MissingFile, "there are no notes for operators", "say how the provider is set up"})
	}
	for i, x := range p.Manifest.AgentTaskExecutors {
		c, err := p.Command(x)
		if err != nil {
			continue // reported already
		}
		at := fault.Index("$.agent_task_executors", i) + ".command"
		for _, rel := range p.ownFiles(c) {
			out = append(out, p.lintFile(at, rel, !c.Shell && c.Argv[0] == filepath.Join(p.Real, rel))...)
		}
	}
	return append(out, p.lintImports()...)
}

func (p *Package) lintFile(at, rel string, run bool) []Finding {
	if !filepath.IsLocal(rel) {
		return []Finding{{Warning, at, OutsideFile, fmt.Sprintf("%s is not in the package", rel), "put into the package what it needs"}}
	}
	fi, err := os.Stat(filepath.Join(p.Real, rel))
	switch {
	case err != nil:
		return []Finding{{Error, at, MissingFile, fmt.Sprintf("names %s, which is not there", rel), "put the file into the package, or correct the command"}}
	case run && (fi.IsDir() || fi.Mode()&0o111 == 0):
		return []Finding{{Error, at, MissingFile, fmt.Sprintf("runs %s, which is not executable", rel), "chmod +x it, or name its interpreter"}}
	}
	return nil
}

// replacementOf is what a deprecated provider says to use instead.
func replacementOf(x homeboy.ExecutorProvider) string {
	for _, key := range []string{"replacement", "replacement_id", "replaced_by"} {
		if s, ok := x.Extra[key].Text(); ok && s != "" {
			return s
		}
	}
	return ""
}

// saysManifest reports whether a file says that it is a manifest.
func saysManifest(file string) bool {
	data, err := plainfile.Read(file, maxManifest)
	if err != nil || !bytes.Contains(data, []byte("agent-runtime-manifest")) {
		return false
	}
	var doc struct {
		Schema string `json:"schema"`
	}
	return json.Unmarshal(data, &doc) == nil && doc.Schema == homeboy.SchemaManifest
}
