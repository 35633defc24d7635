package audit

import (
	"context"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/runner"
)

// isChangelog reports whether a document tells of the past, in which other files were there.
func isChangelog(name string) bool {
	base := strings.ToLower(path.Base(name))
	return strings.HasPrefix(base, "changelog") || strings.HasPrefix(base, "changes.") || strings.HasPrefix(base, "history.")
}

// detectDocuments reports links and names of files that lead nowhere.
func (a *audit) detectDocuments(context.Context) error {
	var ignore []*regexp.Regexp
	for _, p := range a.set.IgnoreClaimPatterns {
		ignore = append(ignore, regexp.MustCompile(p))
	}
	ignored := func(s string) bool {
		return slices.ContainsFunc(ignore, func(re *regexp.Regexp) bool { return re.MatchString(s) })
	}
	for _, s := range a.files {
		if s.lang != "markdown" || isChangelog(s.path) {
			continue
		}
		for _, l := range s.links {
			if fault := a.brokenLink(s, l.target); fault != "" && !ignored(l.target) {
				a.add(runner.AuditFinding{
					Convention: conventionDocs, Kind: kindBrokenDoc, File: s.path, Line: l.line, Subject: l.target,
					Description: fmt.Sprintf("the link to %s leads nowhere: %s", l.target, fault),
					Suggestion:  "correct the link, or remove it",
				})
			}
		}
		for _, c := range s.claims {
			if a.staleClaim(s, c.target) && !ignored(c.target) {
				a.add(runner.AuditFinding{
					Convention: conventionDocs, Kind: kindStaleDoc, File: s.path, Line: c.line, Subject: c.target,
					Description: fmt.Sprintf("names %s, which is not there", c.target),
					Suggestion:  "name the file as it is called now, or add the name to ignore_claim_patterns",
				})
			}
		}
	}
	return nil
}

// brokenLink says what is wrong with a link, or nothing. Other sites are not asked, and what a site makes of a path from
// its root is not known here.
func (a *audit) brokenLink(s *source, target string) string {
	u, err := url.Parse(target)
	if err != nil || u.Scheme != "" || u.Host != "" || strings.ContainsAny(target, "{}$<>") || strings.HasPrefix(target, "/") {
		return ""
	}
	if u.Path == "" {
		return a.missingAnchor(s, u.Fragment)
	}
	to := path.Join(path.Dir(s.path), u.Path)
	if strings.HasPrefix(to, "../") || to == ".." {
		return "" // out of the component
	}
	if !a.exists(to) {
		return to + " is not there"
	}
	if doc := a.tree.byPath[to]; doc != nil && doc.lang == "markdown" && doc.parsed {
		return a.missingAnchor(doc, u.Fragment)
	}
	return ""
}

func (a *audit) missingAnchor(doc *source, anchor string) string {
	if anchor == "" || anchor == "top" || !doc.parsed {
		return ""
	}
	if slices.Contains(doc.headings, anchor) || slices.Contains(doc.headings, strings.ToLower(anchor)) {
		return ""
	}
	return fmt.Sprintf("%s has no heading #%s", doc.path, anchor)
}

// staleClaim reports whether a code span names a file that is gone. It is believed to name a file of this tree when its
// first directory is one of it.
func (a *audit) staleClaim(s *source, name string) bool {
	first, _, _ := strings.Cut(name, "/")
	for _, base := range []string{".", path.Dir(s.path)} {
		if a.exists(path.Join(base, name)) {
			return false
		}
	}
	return a.exists(first)
}
