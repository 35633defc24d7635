package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

// Settings is the configuration of the detectors: `audit` of a manifest, of homeboy.json, and of the checks of deed.yaml.
// docs/AUDIT.md describes every key.
type Settings struct {
	TestMapping              *TestMapping         `json:"test_mapping,omitempty"`
	FeaturePatterns          []string             `json:"feature_patterns,omitempty"`
	FeatureLabels            map[string]string    `json:"feature_labels,omitempty"`
	DocTargets               map[string]DocTarget `json:"doc_targets,omitempty"`
	IgnoreClaimPatterns      []string             `json:"ignore_claim_patterns,omitempty"`
	LifecyclePathGlobs       []string             `json:"lifecycle_path_globs,omitempty"`
	UtilitySuffixes          []string             `json:"utility_suffixes,omitempty"`
	ConventionExceptionGlobs []string             `json:"convention_exception_globs,omitempty"`
	KnownSymbols             []string             `json:"known_symbols,omitempty"`
	RequestedDetectors       []Detector           `json:"requested_detectors,omitempty"`
	Ignore                   []string             `json:"ignore,omitempty"`
	Severity                 map[string]string    `json:"severity,omitempty"`
	Limits                   Limits               `json:"limits,omitzero"`
	LayerRules               []LayerRule          `json:"layer_rules,omitempty"`
}

// A TestMapping says where the test of a source file is.
type TestMapping struct {
	SourceDirs       []string `json:"source_dirs,omitempty"`
	TestDirs         []string `json:"test_dirs,omitempty"`
	TestFilePattern  string   `json:"test_file_pattern,omitempty"` // with {dir}, {name} and {ext}
	MethodPrefix     string   `json:"method_prefix,omitempty"`
	InlineTests      bool     `json:"inline_tests,omitempty"`
	CriticalPatterns []string `json:"critical_patterns,omitempty"`
	SkipTestPatterns []string `json:"skip_test_patterns,omitempty"`
}

// A DocTarget is the document that has to mention the features of a label.
type DocTarget struct {
	File    string `json:"file"`
	Heading string `json:"heading,omitempty"`
}

// A Detector is a requested detector: a text rule that a project brings.
type Detector struct {
	ID                  string   `json:"id"`
	Kind                string   `json:"kind,omitempty"`
	Type                string   `json:"type,omitempty"` // regex, comment_regex or derived_literal
	Severity            string   `json:"severity,omitempty"`
	Convention          string   `json:"convention,omitempty"`
	Language            string   `json:"language,omitempty"`
	FileExtensions      []string `json:"file_extensions,omitempty"`
	ExcludePathContains []string `json:"exclude_path_contains,omitempty"`
	Pattern             string   `json:"pattern"`
	Description         string   `json:"description,omitempty"`
	Suggestion          string   `json:"suggestion,omitempty"`
}

// A LayerRule forbids imports and words to some files.
type LayerRule struct {
	Name   string      `json:"name"`
	Forbid LayerForbid `json:"forbid"`
	Allow  *LayerAllow `json:"allow,omitempty"`
}

// LayerForbid is what a layer rule forbids, and where. Glob is one pattern; a missing one is every file.
type LayerForbid struct {
	Glob     string   `json:"glob,omitempty"`
	Patterns []string `json:"patterns,omitempty"` // texts
	Imports  []string `json:"imports,omitempty"`  // globs of import paths
}

// LayerAllow names the files that a layer rule does not hold for.
type LayerAllow struct {
	Glob string `json:"glob"`
}

// Limits are the numbers that detectors go by. 0 is the default of each.
type Limits struct {
	MaxFileBytes         int64   `json:"max_file_bytes,omitempty"`
	MaxFileLines         int     `json:"max_file_lines,omitempty"`
	MaxItems             int     `json:"max_items,omitempty"`
	MaxDirectoryFiles    int     `json:"max_directory_files,omitempty"`
	DuplicateMinLines    int     `json:"duplicate_min_lines,omitempty"`
	ConventionMinFiles   int     `json:"convention_min_files,omitempty"`
	ConventionShare      float64 `json:"convention_share,omitempty"`
	TodoMaxDays          int     `json:"todo_max_days,omitempty"`
	DeprecationMaxDays   int     `json:"deprecation_max_days,omitempty"`
	DeprecationMaxMinors int     `json:"deprecation_max_minors,omitempty"`
}

var defaultLimits = Limits{
	MaxFileBytes: 2 << 20, MaxFileLines: 1500, MaxItems: 60, MaxDirectoryFiles: 50, DuplicateMinLines: 5,
	ConventionMinFiles: 4, ConventionShare: 0.6, TodoMaxDays: 180, DeprecationMaxDays: 365, DeprecationMaxMinors: 2,
}

// componentRules is the root key `audit_rules` of homeboy.json. Its test_topology is read by nothing here.
type componentRules struct {
	LayerRules []LayerRule `json:"layer_rules"`
}

// otherKeys are keys that real configurations have, and that nothing here reads.
var otherKeys = []string{
	"setup_references", "feature_context", "detector_rules", "runtime_entrypoint_extends", "runtime_entrypoint_markers",
}

// layered is the configuration of one place, and where it stands, for messages.
type layered struct {
	where  string
	s      Settings
	strict bool // a fault is an error that the project has to fix; otherwise it is reported, and the entry is left out
}

// A loader reads the configuration of all places.
type loader struct {
	faults   fault.List
	warnings []string
	all      []layered
}

// load reads the configuration. Faults of the project's own files are an error, all of them at once; what is wrong in a
// manifest, which somebody else wrote, is a warning.
func (cfg Config) load() (Settings, []string, error) {
	var l loader
	var s Settings
	if l.read("$.audit", cfg.Component, true, &s) {
		l.unknownKeys(cfg.Component)
		l.all = append(l.all, layered{"$.audit", s, true})
	}
	var rules componentRules
	if l.read("$.audit_rules", cfg.Rules, true, &rules) {
		l.all = append(l.all, layered{"$.audit_rules", Settings{LayerRules: rules.LayerRules}, true})
	}
	for _, m := range cfg.Manifests {
		s = Settings{}
		if l.read(m.Where, m.Audit, false, &s) {
			l.all = append(l.all, layered{m.Where, s, false})
		}
	}
	for i := range l.all {
		l.check(&l.all[i])
	}
	if err := l.faults.Err(); err != nil {
		return Settings{}, nil, err
	}
	return merge(l.all), l.warnings, nil
}

func (l *loader) read(where string, raw json.RawMessage, strict bool, into any) bool {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return false
	}
	err := json.Unmarshal(raw, into)
	switch {
	case err == nil:
		return true
	case strict:
		l.faults.Add(where, fault.WrongType, err.Error(), "docs/AUDIT.md has the keys")
	default:
		l.warnings = append(l.warnings, fmt.Sprintf("%s: %v; the audit settings of this manifest are not used", where, err))
	}
	return false
}

// unknownKeys reports keys that nothing reads: a misspelt key has no effect, and nobody would notice.
func (l *loader) unknownKeys(raw json.RawMessage) {
	var keys map[string]json.RawMessage
	if json.Unmarshal(raw, &keys) != nil {
		return
	}
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		if !slices.Contains(settingKeys(), k) && !slices.Contains(otherKeys, k) {
			near := fault.Nearest(k, settingKeys())
			if near != "" {
				near = fmt.Sprintf("; did you mean %q?", near)
			}
			l.warnings = append(l.warnings, fmt.Sprintf("$.audit.%s is not a key of the audit and has no effect%s", k, near))
		}
	}
}

// settingKeys are the keys of Settings.
func settingKeys() []string {
	var keys []string
	for f := range reflect.TypeFor[Settings]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		keys = append(keys, name)
	}
	return keys
}

func (l *loader) check(p *layered) {
	var own fault.List
	p.s.check(p.where, &own)
	if own.Len() == 0 {
		return
	}
	for _, f := range own.Faults() {
		if p.strict {
			l.faults.Add(f.Path, f.Code, f.Message, f.Remedy)
		} else {
			l.warnings = append(l.warnings, f.String()+"; left out")
		}
	}
	if !p.strict {
		p.s.dropFaulty()
	}
}

// merge takes single values from the first place that has them, and lists from all places. Of two detectors with one id
// the first counts.
func merge(all []layered) Settings {
	var out Settings
	out.FeatureLabels, out.DocTargets, out.Severity = map[string]string{}, map[string]DocTarget{}, map[string]string{}
	seen := map[string]bool{}
	for _, l := range all {
		s := l.s
		if out.TestMapping == nil {
			out.TestMapping = s.TestMapping
		}
		for _, p := range []struct{ to, from *[]string }{
			{&out.FeaturePatterns, &s.FeaturePatterns},
			{&out.IgnoreClaimPatterns, &s.IgnoreClaimPatterns},
			{&out.LifecyclePathGlobs, &s.LifecyclePathGlobs},
			{&out.UtilitySuffixes, &s.UtilitySuffixes},
			{&out.ConventionExceptionGlobs, &s.ConventionExceptionGlobs},
			{&out.KnownSymbols, &s.KnownSymbols},
			{&out.Ignore, &s.Ignore},
		} {
			*p.to = append(*p.to, *p.from...)
		}
		fill(out.FeatureLabels, s.FeatureLabels)
		fill(out.DocTargets, s.DocTargets)
		fill(out.Severity, s.Severity)
		for _, d := range s.RequestedDetectors {
			if !seen[d.ID] {
				seen[d.ID] = true
				out.RequestedDetectors = append(out.RequestedDetectors, d)
			}
		}
		out.LayerRules = append(out.LayerRules, s.LayerRules...)
		out.Limits.fill(s.Limits)
	}
	out.Limits.fill(defaultLimits)
	return out
}

func fill[V any](to, from map[string]V) {
	for k, v := range from {
		if _, ok := to[k]; !ok {
			to[k] = v
		}
	}
}

func (n *Limits) fill(from Limits) {
	for _, p := range []struct{ to, from *int }{
		{&n.MaxFileLines, &from.MaxFileLines},
		{&n.MaxItems, &from.MaxItems},
		{&n.MaxDirectoryFiles, &from.MaxDirectoryFiles},
		{&n.DuplicateMinLines, &from.DuplicateMinLines},
		{&n.ConventionMinFiles, &from.ConventionMinFiles},
		{&n.TodoMaxDays, &from.TodoMaxDays},
		{&n.DeprecationMaxDays, &from.DeprecationMaxDays},
		{&n.DeprecationMaxMinors, &from.DeprecationMaxMinors},
	} {
		if *p.to == 0 {
			*p.to = *p.from
		}
	}
	if n.MaxFileBytes == 0 {
		n.MaxFileBytes = from.MaxFileBytes
	}
	if n.ConventionShare == 0 {
		n.ConventionShare = from.ConventionShare
	}
}

// The types of requested detectors.
const (
	typeRegex          = "regex"
	typeCommentRegex   = "comment_regex"
	typeDerivedLiteral = "derived_literal"
)

// check adds what is wrong with the settings of one place.
func (s Settings) check(where string, l *fault.List) {
	patterns := func(key string, list []string) {
		for i, p := range list {
			checkPattern(fmt.Sprintf("%s.%s[%d]", where, key, i), p, l)
		}
	}
	patterns("feature_patterns", s.FeaturePatterns)
	patterns("ignore_claim_patterns", s.IgnoreClaimPatterns)
	globs := func(key string, list []string) {
		for i, g := range list {
			checkGlob(fmt.Sprintf("%s.%s[%d]", where, key, i), g, l)
		}
	}
	globs("ignore", s.Ignore)
	globs("convention_exception_globs", s.ConventionExceptionGlobs)
	globs("lifecycle_path_globs", s.LifecyclePathGlobs)
	for i, d := range s.RequestedDetectors {
		d.check(fmt.Sprintf("%s.requested_detectors[%d]", where, i), l)
	}
	for i, r := range s.LayerRules {
		r.check(fmt.Sprintf("%s.layer_rules[%d]", where, i), l)
	}
	for _, kind := range slices.Sorted(maps.Keys(s.Severity)) {
		fault.OneOf(l, where+".severity."+kind, s.Severity[kind], "off", runner.SeverityInfo, runner.SeverityWarning)
	}
	if m := s.TestMapping; m != nil {
		m.check(where+".test_mapping", l)
	}
	s.Limits.check(where+".limits", l)
}

func (m *TestMapping) check(where string, l *fault.List) {
	if m.TestFilePattern != "" && !strings.Contains(m.TestFilePattern, "{name}") {
		l.Add(where+".test_file_pattern", fault.BadFormat, fmt.Sprintf("%q has no {name}", m.TestFilePattern), "write a pattern such as {dir}/{name}_test.{ext}")
	}
}

func (n Limits) check(where string, l *fault.List) {
	for _, v := range []struct {
		key string
		n   int64
	}{
		{"max_file_bytes", n.MaxFileBytes},
		{"max_file_lines", int64(n.MaxFileLines)},
		{"max_items", int64(n.MaxItems)},
		{"max_directory_files", int64(n.MaxDirectoryFiles)},
		{"duplicate_min_lines", int64(n.DuplicateMinLines)},
		{"convention_min_files", int64(n.ConventionMinFiles)},
		{"todo_max_days", int64(n.TodoMaxDays)},
		{"deprecation_max_days", int64(n.DeprecationMaxDays)},
		{"deprecation_max_minors", int64(n.DeprecationMaxMinors)},
	} {
		if v.n < 0 {
			l.Add(where+"."+v.key, fault.OutOfRange, fmt.Sprintf("%d is negative", v.n), "leave it out for the default")
		}
	}
	if n.ConventionShare < 0 || n.ConventionShare > 1 {
		l.Add(where+".convention_share", fault.OutOfRange, fmt.Sprintf("%v is not between 0 and 1", n.ConventionShare), "0.6 is the default")
	}
	if n.MaxFileBytes > 64<<20 {
		l.Add(where+".max_file_bytes", fault.OutOfRange, fmt.Sprintf("%d is more than 64 MiB", n.MaxFileBytes), "an audit reads files whole")
	}
}

func (d Detector) check(where string, l *fault.List) {
	if strings.TrimSpace(d.ID) == "" {
		l.Add(where+".id", fault.Blank, "is empty", "give the detector a name of its own")
	}
	if d.Pattern == "" {
		l.Add(where+".pattern", fault.Blank, "is empty", "give a regular expression")
	} else {
		checkPattern(where+".pattern", d.Pattern, l)
	}
	if d.Type != "" {
		fault.OneOf(l, where+".type", d.Type, typeRegex, typeCommentRegex, typeDerivedLiteral)
	}
	if d.Severity != "" {
		fault.OneOf(l, where+".severity", d.Severity, runner.AuditSeverities...)
	}
	if d.Kind != "" && strings.Trim(d.Kind, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
		l.Add(where+".kind", fault.BadFormat, fmt.Sprintf("%q is not a name in lower case with underscores", d.Kind), "")
	}
	if d.Type == typeDerivedLiteral && !strings.Contains(d.Pattern, "?P<value>") && !strings.Contains(d.Pattern, "?<value>") {
		l.Add(where+".pattern", fault.BadFormat, "has no group named value", "name the literal that is derived: (?P<value>…)")
	}
}

func (r LayerRule) check(where string, l *fault.List) {
	if strings.TrimSpace(r.Name) == "" {
		l.Add(where+".name", fault.Blank, "is empty", "findings are told apart by it")
	}
	if len(r.Forbid.Patterns)+len(r.Forbid.Imports) == 0 {
		l.Add(where+".forbid", fault.MissingField, "forbids nothing", "give patterns or imports")
	}
	if r.Forbid.Glob != "" {
		checkGlob(where+".forbid.glob", r.Forbid.Glob, l)
	}
	for i, g := range r.Forbid.Imports {
		checkGlob(fmt.Sprintf("%s.forbid.imports[%d]", where, i), g, l)
	}
	if r.Allow != nil {
		checkGlob(where+".allow.glob", r.Allow.Glob, l)
	}
}

func checkPattern(where, pattern string, l *fault.List) {
	if _, err := regexp.Compile(pattern); err != nil {
		l.Add(where, fault.BadFormat, fmt.Sprintf("%q is no regular expression: %v", pattern, err), "the syntax is RE2: no look-around, no back-references")
	}
}

func checkGlob(where, glob string, l *fault.List) {
	if err := workspace.ValidateGlob(glob); err != nil {
		l.Add(where, fault.BadFormat, err.Error(), "")
	}
}

// dropFaulty leaves out of a manifest's settings the entries that cannot be used.
func (s *Settings) dropFaulty() {
	sound := func(p string) bool { _, err := regexp.Compile(p); return err == nil }
	good := func(g string) bool { return workspace.ValidateGlob(g) == nil }
	keep := func(list []string, ok func(string) bool) []string {
		return slices.DeleteFunc(list, func(p string) bool { return !ok(p) })
	}
	s.FeaturePatterns = keep(s.FeaturePatterns, sound)
	s.IgnoreClaimPatterns = keep(s.IgnoreClaimPatterns, sound)
	s.Ignore, s.ConventionExceptionGlobs, s.LifecyclePathGlobs = keep(s.Ignore, good), keep(s.ConventionExceptionGlobs, good), keep(s.LifecyclePathGlobs, good)
	clean := func(check func(*fault.List)) bool {
		var l fault.List
		check(&l)
		return l.Err() == nil
	}
	s.RequestedDetectors = slices.DeleteFunc(s.RequestedDetectors, func(d Detector) bool {
		return !clean(func(l *fault.List) { d.check("", l) })
	})
	s.LayerRules = slices.DeleteFunc(s.LayerRules, func(r LayerRule) bool { return !clean(func(l *fault.List) { r.check("", l) }) })
	if s.TestMapping != nil && !clean(func(l *fault.List) { s.TestMapping.check("", l) }) {
		s.TestMapping = nil
	}
	if !clean(func(l *fault.List) { s.Limits.check("", l) }) {
		s.Limits = Limits{}
	}
	for k, v := range s.Severity {
		if v != "off" && !slices.Contains(runner.AuditSeverities, v) {
			delete(s.Severity, k)
		}
	}
}
