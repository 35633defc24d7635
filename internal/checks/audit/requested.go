package audit

import (
	"cmp"
	"context"
	"fmt"

	"github.com/deedrun/deed/contract/runner"
)

// detectRequested reports the matches of the detectors that the project brings.
func (a *audit) detectRequested(context.Context) error {
	for _, s := range a.files {
		for _, h := range s.hits {
			if r := a.rules.rules[h.rule]; r.use == forDetector {
				a.addRequested(r, s, h, group(r.re, h, "subject"))
			}
		}
	}
	for i := range a.rules.rules {
		if r := &a.rules.rules[i]; r.use == forLiteral {
			a.derivedLiterals(r, i)
		}
	}
	return nil
}

// minLiteral is the length from which a literal is the same by intention.
const minLiteral = 3

// derivedLiterals finds the values that a pattern derives, and then the literals that repeat one of them elsewhere.
func (a *audit) derivedLiterals(r *textRule, rule int) {
	type origin struct {
		hit  hitFact
		file string
	}
	values := map[string]origin{}
	for _, s := range a.files {
		for _, h := range s.hits {
			if h.rule != rule {
				continue
			}
			if v := group(r.re, h, "value"); len(v) >= minLiteral {
				if _, ok := values[v]; !ok {
					values[v] = origin{h, s.path}
				}
			}
		}
	}
	for _, s := range a.files {
		if len(values) == 0 || !r.wants(s.path, s.lang) {
			continue
		}
		for _, l := range s.literals {
			o, ok := values[l.value]
			if !ok || (o.file == s.path && o.hit.line == l.line) {
				continue
			}
			h := o.hit
			h.line = l.line
			a.addRequested(*r, s, h, l.value)
		}
	}
}

func (a *audit) addRequested(r textRule, s *source, h hitFact, subject string) {
	d := r.detector
	kind := d.Kind
	if kind == "" {
		if kind = kindRequested; d.Type == typeCommentRegex {
			kind = kindLegacyComment
		}
	}
	description := fmt.Sprintf("the detector %s matched %q", d.ID, h.groups[0])
	if d.Description != "" {
		description = expand(d.Description, r.re, h)
	}
	a.add(runner.AuditFinding{
		Convention: cmp.Or(d.Convention, conventionRequested), Kind: kind, Severity: cmp.Or(d.Severity, warning), Confidence: heuristic,
		File: s.path, Line: h.line, Subject: d.ID + ":" + subject, Description: description,
		Suggestion: cmp.Or(expand(d.Suggestion, r.re, h), "see the detector "+d.ID),
	})
}
