package audit

import (
	"context"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

// The statuses of a convention.
const (
	statusClean      = "clean"
	statusDrift      = "drift"
	statusFragmented = "fragmented" // fewer than half conform: it is no convention, and nothing is reported
)

// A member is what keeps a convention or does not: a file among the files of its directory, or a Go package among the
// packages of its parent.
type member struct {
	file       string // that findings name
	line       int
	methods    map[string]string // name and signature
	interfaces []string
	typeName   string
	namespace  string
}

func (a *audit) detectConventions(context.Context) error {
	for _, dir := range a.tree.dirs {
		for _, lang := range []string{"go", "javascript", "typescript", "php", "python", "rust", "java", "kotlin", "ruby", "c#", "swift", "scala", "dart"} {
			a.convention(dir, lang, dir, a.fileMembers(dir, lang))
		}
	}
	parents := map[string][]string{}
	for _, dir := range a.tree.dirs {
		if dir != "." && a.tree.module[dir] != "" {
			parents[path.Dir(dir)] = append(parents[path.Dir(dir)], dir)
		}
	}
	for _, parent := range slices.Sorted(maps.Keys(parents)) {
		a.convention(parent, "go", path.Join(parent, "*"), a.packageMembers(parents[parent]))
	}
	return nil
}

// fileMembers are the files of a directory and language that can keep a convention together.
func (a *audit) fileMembers(dir, lang string) []member {
	var out []member
	for _, s := range a.tree.byDir[dir] {
		if s.lang != lang || !s.parsed || s.generated || isTestFile(s.path) || a.exempt(s.path) {
			continue
		}
		m := member{file: s.path, methods: map[string]string{}, namespace: s.pkg}
		for _, fn := range s.funcs {
			if conventional(lang, &fn) {
				m.methods[fn.name] = fn.sig
			}
		}
		for _, t := range s.types {
			m.interfaces = append(m.interfaces, t.implements...)
			if m.typeName == "" {
				m.typeName, m.line = t.name, t.line
			}
		}
		if lang == "go" && (len(m.methods) == 0 || len(s.types) == 0) {
			continue // no type of its own: nothing that its siblings could have as well
		}
		out = append(out, m)
	}
	return out
}

// conventional reports whether siblings of a file may be expected to have a function as well. Functions of one Go package
// cannot share a name, and its unexported methods are nobody's convention; what a language calls by itself, as __construct or
// __init__, is the language's.
func conventional(lang string, fn *funcFact) bool {
	if lang == "go" {
		return fn.recv != "" && fn.exported && !wellKnownMethods()[fn.name]
	}
	return !strings.HasPrefix(fn.name, "__")
}

// packageMembers are the packages of one parent, each with its exported functions.
func (a *audit) packageMembers(dirs []string) []member {
	var out []member
	for _, dir := range dirs {
		m := member{methods: map[string]string{}}
		for _, s := range a.tree.byDir[dir] {
			if s.lang != "go" || !s.parsed || s.generated || s.test || s.pkg == "main" || servesTests(dir) || a.exempt(s.path) {
				continue
			}
			for _, fn := range s.funcs {
				if fn.recv == "" && fn.exported {
					m.methods[fn.name] = fn.sig
				}
			}
			if m.file == "" {
				m.file = s.path
			}
		}
		if m.file != "" {
			out = append(out, m)
		}
	}
	return out
}

// exempt reports whether a file keeps no convention by design.
func (a *audit) exempt(name string) bool {
	base := path.Base(name)
	stem := strings.TrimSuffix(base, path.Ext(base))
	return slices.Contains(indexFiles, base) || workspace.MatchAny(a.set.ConventionExceptionGlobs, name) ||
		slices.ContainsFunc(a.set.UtilitySuffixes, func(s string) bool { return s != "" && strings.HasSuffix(strings.ToLower(stem), strings.ToLower(s)) })
}

// convention learns what most members of a group have, and reports those that have it not.
func (a *audit) convention(dir, lang, name string, members []member) {
	if len(members) < max(2, a.set.Limits.ConventionMinFiles) {
		return
	}
	need := int(math.Ceil(a.set.Limits.ConventionShare * float64(len(members))))
	c := runner.AuditConvention{Name: name + " (" + lang + ")", Directory: dir, Language: lang, Files: len(members), Status: statusClean}
	c.Methods = common(members, need, func(m member) []string { return slices.Collect(maps.Keys(m.methods)) })
	c.Interfaces = common(members, need, func(m member) []string { return m.interfaces })
	if lang != "go" {
		for _, s := range common(members, need, func(m member) []string { return lastWord(m.typeName) }) {
			c.Naming = s
		}
	}
	spaces := common(members, need, func(m member) []string { return nonEmpty(m.namespace) })
	if len(c.Methods)+len(c.Interfaces)+len(c.Naming) == 0 {
		return
	}
	var found []runner.AuditFinding
	for _, m := range members {
		lacking := a.lacking(c, m)
		if len(lacking) == 0 {
			c.Conforming++
		} else {
			c.Outliers = append(c.Outliers, m.file)
			found = append(found, lacking...)
		}
		found = append(found, a.mismatches(c, m, members, need, spaces)...)
	}
	c.Confidence = math.Round(1000*float64(c.Conforming)/float64(len(members))) / 1000
	switch {
	case 2*c.Conforming < len(members):
		c.Status, c.Outliers = statusFragmented, nil
	case len(c.Outliers) > 0:
		c.Status = statusDrift
	}
	a.conventions = append(a.conventions, c)
	if c.Status != statusFragmented {
		for _, f := range found {
			a.add(f)
		}
	}
}

// lacking are the findings that make a member an outlier.
func (a *audit) lacking(c runner.AuditConvention, m member) (out []runner.AuditFinding) {
	for _, name := range c.Methods {
		if _, ok := m.methods[name]; !ok {
			out = append(out, runner.AuditFinding{
				Convention: c.Name, Kind: kindMissingMethod, File: m.file, Line: m.line, Subject: name,
				Description: fmt.Sprintf("%s is missing; most of the %d siblings in %s have it", name, c.Files, c.Directory),
				Suggestion:  fmt.Sprintf("add %s, or list the file in convention_exception_globs", name),
			})
		}
	}
	for _, name := range c.Interfaces {
		if !slices.Contains(m.interfaces, name) {
			out = append(out, runner.AuditFinding{
				Convention: c.Name, Kind: kindMissingInterface, File: m.file, Line: m.line, Subject: name,
				Description: fmt.Sprintf("does not extend or implement %s; most of the %d siblings in %s do", name, c.Files, c.Directory),
				Suggestion:  fmt.Sprintf("implement %s, or list the file in convention_exception_globs", name),
			})
		}
	}
	return out
}

// mismatches are findings of members that have what they need, in another form than the others.
func (a *audit) mismatches(c runner.AuditConvention, m member, all []member, need int, spaces []string) (out []runner.AuditFinding) {
	if c.Naming != "" && m.typeName != "" && !strings.HasSuffix(m.typeName, c.Naming) {
		out = append(out, runner.AuditFinding{
			Convention: c.Name, Kind: kindNaming, File: m.file, Line: m.line, Subject: m.typeName,
			Description: fmt.Sprintf("%s does not end in %s as most type names in %s do", m.typeName, c.Naming, c.Directory),
			Suggestion:  "rename the type, or move it to where its kind lives",
		})
	}
	for _, name := range c.Methods {
		sig, ok := m.methods[name]
		usual := common(all, need, func(m member) []string { return nonEmpty(m.methods[name]) })
		if !ok || len(usual) == 0 || usual[0] == sig {
			continue
		}
		out = append(out, runner.AuditFinding{
			Convention: c.Name, Kind: kindSignature, File: m.file, Line: m.line, Subject: name,
			Description: fmt.Sprintf("%s takes and returns %s values where most siblings have %s", name, sig, usual[0]),
			Suggestion:  "give it the parameters and results of its siblings, or another name",
		})
	}
	if len(spaces) > 0 && m.namespace != spaces[0] && m.namespace != "" {
		out = append(out, runner.AuditFinding{
			Convention: c.Name, Kind: kindNamespace, File: m.file, Subject: m.namespace,
			Description: fmt.Sprintf("is in %s; most files of %s are in %s", m.namespace, c.Directory, spaces[0]),
			Suggestion:  "correct the namespace, or move the file",
		})
	}
	return out
}

// common lists what at least need members have, in order.
func common(members []member, need int, of func(member) []string) []string {
	counts := map[string]int{}
	for _, m := range members {
		has := of(m)
		slices.Sort(has)
		for _, s := range slices.Compact(has) {
			counts[s]++
		}
	}
	var out []string
	for s, n := range counts {
		if n >= need && n > 1 {
			out = append(out, s)
		}
	}
	slices.Sort(out)
	return out
}

// lastWord is the last word of a name in camel case, when it has several.
func lastWord(name string) []string {
	i := strings.LastIndexFunc(name, unicode.IsUpper)
	if i <= 0 || len(name)-i < 3 {
		return nil
	}
	return []string{name[i:]}
}

func nonEmpty(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}
