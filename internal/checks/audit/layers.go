package audit

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

// detectLayers reports forbidden imports and forbidden words.
func (a *audit) detectLayers(context.Context) error {
	for _, s := range a.files {
		for i := range a.set.LayerRules {
			rule := &a.set.LayerRules[i]
			if len(rule.Forbid.Imports) == 0 || !rule.holds(s.path) {
				continue
			}
			for _, im := range s.imports {
				if a.forbidden(rule, s, im.path) {
					a.add(runner.AuditFinding{
						Convention: rule.Name, Kind: kindLayer, File: s.path, Line: im.line, Subject: im.path,
						Description: fmt.Sprintf("imports %s, which the layer rule %s forbids", im.path, rule.Name),
						Suggestion:  "go through the layer that owns it",
					})
				}
			}
		}
		for _, h := range s.hits {
			r := a.rules.rules[h.rule]
			if r.use != forLayer {
				continue
			}
			a.add(runner.AuditFinding{
				Convention: r.layer.Name, Kind: kindLayer, Confidence: heuristic, File: s.path, Line: h.line, Subject: r.text,
				Description: fmt.Sprintf("uses %q, which the layer rule %s forbids", r.text, r.layer.Name),
				Suggestion:  "go through the layer that owns it",
			})
		}
	}
	return nil
}

// forbidden matches an import by its path, by its path within the module, and, where it is relative, by the file that it
// leads to.
func (a *audit) forbidden(rule *LayerRule, s *source, imported string) bool {
	names := []string{imported}
	if strings.HasPrefix(imported, ".") {
		names = append(names, path.Join(path.Dir(s.path), imported))
	}
	dir := path.Dir(s.path)
	if mod := strings.TrimSuffix(strings.TrimSuffix(a.tree.module[dir], dir), "/"); mod != "" {
		if rest, ok := strings.CutPrefix(imported, mod+"/"); ok {
			names = append(names, rest)
		}
	}
	return slices.ContainsFunc(rule.Forbid.Imports, func(glob string) bool {
		return slices.ContainsFunc(names, func(n string) bool { return workspace.Match(glob, n) })
	})
}
