package audit

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/runner"
)

// maxDocuments bounds the documents that are searched for features.
const maxDocuments = 2000

// detectFeatures reports features that the code has and no document mentions. The document is the target of the
// pattern's label, else any document.
func (a *audit) detectFeatures(context.Context) error {
	if len(a.set.FeaturePatterns) == 0 {
		return nil
	}
	texts := map[string]string{} // of each target; "" is all documents
	told := map[string]bool{}
	for _, s := range a.files {
		if isTestFile(s.path) || s.generated {
			continue
		}
		for _, h := range s.hits {
			r := a.rules.rules[h.rule]
			if r.use != forFeature {
				continue
			}
			name := group(r.re, h, "name")
			label := a.label(r.text)
			target := a.set.DocTargets[label].File
			if told[label+"\x00"+name] || strings.TrimSpace(name) == "" {
				continue
			}
			if _, ok := texts[target]; !ok {
				texts[target] = a.documentText(target)
			}
			if strings.Contains(texts[target], name) {
				continue
			}
			told[label+"\x00"+name] = true
			where := "any document"
			if target != "" {
				where = target
			}
			a.add(runner.AuditFinding{
				Convention: conventionFeatures, Kind: kindUndocumented, File: s.path, Line: h.line, Subject: name,
				Description: fmt.Sprintf("%s %q is not mentioned in %s", label, name, where),
				Suggestion:  "describe it there",
			})
		}
	}
	return nil
}

// label is the name of what a pattern finds: that of the longest key which the pattern contains.
func (a *audit) label(pattern string) string {
	label, best := "feature", ""
	for _, key := range slices.Sorted(maps.Keys(a.set.FeatureLabels)) {
		if strings.Contains(pattern, key) && len(key) > len(best) {
			label, best = a.set.FeatureLabels[key], key
		}
	}
	return label
}

func (a *audit) documentText(target string) string {
	if target != "" {
		return a.readSmall(path.Clean(strings.TrimPrefix(target, "/")))
	}
	var b strings.Builder
	n := 0
	for _, s := range a.files {
		if s.lang == "markdown" && !isChangelog(s.path) && n < maxDocuments {
			n++
			b.WriteString(a.readSmall(s.path))
			b.WriteByte('\n')
		}
	}
	return b.String()
}
