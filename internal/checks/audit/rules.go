package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/deedrun/deed/internal/evidence/workspace"
)

// What a text rule is for.
const (
	forDetector = iota
	forLiteral  // the values of a derived_literal
	forLayer
	forFeature
)

// maxHits bounds the matches of one rule in one file.
const maxHits = 200

// maxGroup bounds what is kept of a match.
const maxGroup = 200

// A textRule finds something in the text of files.
type textRule struct {
	use      int
	index    int // of the detector, layer rule or feature pattern that it comes from
	text     string
	re       *regexp.Regexp // nil: the text itself
	comments bool           // looked for in comments only
	detector *Detector
	layer    *LayerRule
}

// A ruleSet is all text rules of a run. Its digest names them: facts found with other rules are of no use.
type ruleSet struct {
	rules    []textRule
	literals bool // some rule needs the literals of every file
	digest   [32]byte
}

func compile(s Settings, scripts []Script) *ruleSet {
	set := &ruleSet{}
	for i := range s.RequestedDetectors {
		d := &s.RequestedDetectors[i]
		r := textRule{use: forDetector, index: i, text: d.Pattern, re: multiline(d.Pattern), comments: d.Type == typeCommentRegex, detector: d}
		if d.Type == typeDerivedLiteral {
			r.use, set.literals = forLiteral, true
		}
		set.rules = append(set.rules, r)
	}
	for i := range s.LayerRules {
		l := &s.LayerRules[i]
		for _, p := range l.Forbid.Patterns {
			set.rules = append(set.rules, textRule{use: forLayer, index: i, text: p, layer: l})
		}
	}
	for i, p := range s.FeaturePatterns {
		set.rules = append(set.rules, textRule{use: forFeature, index: i, text: p, re: multiline(p)})
	}
	readers := make([][]string, len(scripts))
	for i, sc := range scripts {
		readers[i] = append([]string{sc.Path, sc.Digest}, sc.Extensions...)
	}
	text, err := json.Marshal([]any{s.RequestedDetectors, s.LayerRules, s.FeaturePatterns, readers})
	if err != nil {
		text = []byte(err.Error()) // strings only: it cannot happen, and would only cost the cache
	}
	set.digest = sha256.Sum256(text)
	return set
}

// multiline compiles a pattern that was checked before. ^ and $ are the ends of lines.
func multiline(p string) *regexp.Regexp { return regexp.MustCompile("(?m)" + p) }

// wants reports whether a rule looks at a file.
func (r *textRule) wants(name, lang string) bool {
	switch {
	case r.layer != nil:
		return r.layer.holds(name)
	case r.detector == nil: // a feature: of the program, not of its documents
		return lang != "markdown" && lang != "text" && lang != "json"
	}
	d := r.detector
	if d.Language != "" && !strings.EqualFold(d.Language, lang) {
		return false
	}
	ext := strings.TrimPrefix(path.Ext(name), ".")
	if len(d.FileExtensions) > 0 && !slices.ContainsFunc(d.FileExtensions, func(e string) bool { return strings.TrimPrefix(e, ".") == ext }) {
		return false
	}
	return !slices.ContainsFunc(d.ExcludePathContains, func(part string) bool { return strings.Contains(name, part) })
}

// holds reports whether a layer rule is about a file.
func (r *LayerRule) holds(name string) bool {
	if r.Forbid.Glob != "" && !workspace.Match(r.Forbid.Glob, name) {
		return false
	}
	return r.Allow == nil || !workspace.Match(r.Allow.Glob, name)
}

// apply finds the matches of all rules in a file.
func (set *ruleSet) apply(f *facts, name string, src []byte, syn *syntax) {
	for i := range set.rules {
		r := &set.rules[i]
		if !r.wants(name, f.lang) {
			continue
		}
		switch {
		case r.comments && syn != nil:
			eachComment(src, syn, func(line int, text string) {
				if m := r.re.FindStringSubmatch(text); m != nil && len(f.hits) < maxHits*len(set.rules) {
					f.hits = append(f.hits, hitFact{rule: i, line: line, groups: cutAll(m)})
				}
			})
		case r.comments:
		case r.re != nil:
			lines := lineCounter{src: src}
			for _, m := range r.re.FindAllSubmatchIndex(src, maxHits) {
				f.hits = append(f.hits, hitFact{rule: i, line: lines.at(m[0]), groups: groupsOf(src, m)})
			}
		default:
			r.findText(f, i, src, syn)
		}
	}
}

// findText finds a text outside of comments.
func (r *textRule) findText(f *facts, rule int, src []byte, syn *syntax) {
	if !bytes.Contains(src, []byte(r.text)) {
		return
	}
	comment := map[int]bool{}
	if syn != nil {
		eachComment(src, syn, func(line int, text string) {
			if strings.Contains(text, r.text) {
				comment[line] = true
			}
		})
	}
	line, found := 0, 0
	for l := range bytes.Lines(src) {
		line++
		n := bytes.Count(l, []byte(r.text))
		if n == 0 || (comment[line] && n == 1) {
			continue
		}
		f.hits = append(f.hits, hitFact{rule: rule, line: line, groups: []string{r.text}})
		if found++; found == maxHits {
			return
		}
	}
}

// A lineCounter returns the line numbers of ascending offsets.
type lineCounter struct {
	src  []byte
	done int
	n    int
}

func (l *lineCounter) at(offset int) int {
	l.n += bytes.Count(l.src[l.done:offset], []byte("\n"))
	l.done = offset
	return l.n + 1
}

func groupsOf(src []byte, m []int) []string {
	out := make([]string, 0, len(m)/2)
	for i := 0; i+1 < len(m); i += 2 {
		if m[i] < 0 {
			out = append(out, "")
			continue
		}
		out = append(out, cut(string(src[m[i]:m[i+1]]), maxGroup))
	}
	return out
}

func cutAll(list []string) []string {
	for i, s := range list {
		list[i] = cut(s, maxGroup)
	}
	return list
}

// expand fills a template with the groups of a match: {name}, {1}, {line}.
func expand(template string, re *regexp.Regexp, h hitFact) string {
	pairs := []string{"{line}", fmt.Sprint(h.line)}
	for i, g := range h.groups {
		pairs = append(pairs, fmt.Sprintf("{%d}", i), g)
		if re != nil && i < len(re.SubexpNames()) && re.SubexpNames()[i] != "" {
			pairs = append(pairs, "{"+re.SubexpNames()[i]+"}", g)
		}
	}
	return strings.NewReplacer(pairs...).Replace(template)
}

// group is a named group of a match, or else the first one, or else the whole.
func group(re *regexp.Regexp, h hitFact, name string) string {
	if re != nil {
		if i := re.SubexpIndex(name); i > 0 && i < len(h.groups) {
			return h.groups[i]
		}
	}
	if len(h.groups) > 1 {
		return h.groups[1]
	}
	return h.groups[0]
}
