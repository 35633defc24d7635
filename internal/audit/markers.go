package audit

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/atomicfile"
)

// Bounds of what git is asked: files, and time for all of them.
const (
	maxBlamed = 200
	blameTime = 20 * time.Second
)

func (a *audit) detectMarkers(ctx context.Context) error {
	if !a.reports(kindTodo) && !a.reports(kindStaleTodo) && !a.reports(kindDeprecation) {
		return nil
	}
	var marked []*source
	for _, s := range a.files {
		if len(s.markers) > 0 && !s.generated {
			marked = append(marked, s)
		}
	}
	ages := a.ages(ctx, marked)
	for _, s := range marked {
		for i, m := range s.markers {
			if m.word == "DEPRECATED" {
				a.deprecated(s, m, ages[s.path], i)
			} else {
				a.todo(s, m, ages[s.path], i)
			}
		}
	}
	return context.Cause(ctx)
}

func (a *audit) todo(s *source, m markerFact, ages []int64, i int) {
	f := runner.AuditFinding{
		Convention: conventionComments, Kind: kindTodo, File: s.path, Line: m.line, Subject: m.text,
		Description: m.text, Suggestion: "do it, or make an issue of it and remove the comment",
	}
	if days, ok := a.days(ages, i); ok {
		f.Description = fmt.Sprintf("%s (%d days old)", m.text, days)
		if days > a.set.Limits.TodoMaxDays {
			f.Kind = kindStaleTodo
		}
	}
	a.add(f)
}

// deprecated reports what should be gone by now: by the version that deprecated it when it says so, else by its age.
func (a *audit) deprecated(s *source, m markerFact, ages []int64, i int) {
	f := runner.AuditFinding{
		Convention: conventionComments, Kind: kindDeprecation, File: s.path, Line: m.line, Subject: m.text,
		Suggestion: "remove it, or say until when it stays",
	}
	if since, now := parseVersion(m.version), parseVersion(a.cfg.Version); since != nil && now != nil {
		if now[0] > since[0] || now[0] == since[0] && now[1]-since[1] > a.set.Limits.DeprecationMaxMinors {
			f.Description = fmt.Sprintf("deprecated since %s, and this is %s: %s", m.version, a.cfg.Version, m.text)
			a.add(f)
		}
		return
	}
	if days, ok := a.days(ages, i); ok && days > a.set.Limits.DeprecationMaxDays {
		f.Description = fmt.Sprintf("deprecated for %d days: %s", days, m.text)
		a.add(f)
	}
}

func (a *audit) days(ages []int64, i int) (int, bool) {
	if i >= len(ages) || ages[i] == 0 {
		return 0, false
	}
	return max(0, int(a.now.Sub(time.Unix(ages[i], 0)).Hours()/24)), true
}

// parseVersion reads the first two numbers of a version.
func parseVersion(s string) []int {
	parts := strings.SplitN(strings.TrimPrefix(strings.TrimSpace(s), "v"), ".", 3)
	if len(parts) < 2 {
		return nil
	}
	major, err1 := strconv.Atoi(parts[0])
	minor, err2 := strconv.Atoi(parts[1])
	if cmp.Or(err1, err2) != nil {
		return nil
	}
	return []int{major, minor}
}

// An ageRecord is what git said of a file's markers, for as long as neither the history nor the file changes.
type ageRecord struct {
	Head   string  `json:"head"`
	Digest string  `json:"digest"`
	Times  []int64 `json:"times"` // unix seconds of each marker; 0: not committed, or not known
}

// ages tells when the line of each marker was committed, by file. What git cannot tell in time is left out, and said.
func (a *audit) ages(ctx context.Context, marked []*source) map[string][]int64 {
	out := map[string][]int64{}
	if len(marked) == 0 {
		return out
	}
	head, ok, err := a.git(ctx, "rev-parse", "--verify", "--quiet", "HEAD")
	if err != nil || !ok {
		return out
	}
	head = strings.TrimSpace(head)
	file, before := a.loadAges()
	known := map[string]ageRecord{}
	ctx, cancel := context.WithTimeout(ctx, blameTime)
	defer cancel()
	asked, left := 0, 0
	for _, s := range marked {
		digest := fmt.Sprintf("%x", s.digest[:12])
		r := before[s.path]
		if r.Head != head || r.Digest != digest || len(r.Times) != len(s.markers) {
			if asked == maxBlamed || ctx.Err() != nil {
				left++
				continue
			}
			asked++
			r = ageRecord{Head: head, Digest: digest, Times: a.blame(ctx, s)}
		}
		known[s.path], out[s.path] = r, r.Times
	}
	if left > 0 {
		a.warnings = append(a.warnings, fmt.Sprintf("the age of the comments of %d files is not told: git was asked about %d files for %s", left, asked, blameTime))
	}
	if asked > 0 || len(known) != len(before) {
		if b, err := json.Marshal(known); err == nil && file != "" {
			_ = atomicfile.Replace(file, b, 0o600)
		}
	}
	return out
}

func (a *audit) loadAges() (file string, known map[string]ageRecord) {
	if a.cache.file == "" {
		return "", nil
	}
	file = strings.TrimSuffix(a.cache.file, filepath.Ext(a.cache.file)) + ".ages"
	if b, err := os.ReadFile(file); err == nil {
		_ = json.Unmarshal(b, &known) // what cannot be read is asked for again
	}
	return file, known
}

// blame asks git about the lines of a file's markers, as they are committed. A line that is no longer what it was has no
// age.
func (a *audit) blame(ctx context.Context, s *source) []int64 {
	times := make([]int64, len(s.markers))
	args := []string{"blame", "--porcelain", "--no-textconv"}
	for _, m := range s.markers {
		args = append(args, fmt.Sprintf("-L%d,%d", m.line, m.line))
	}
	out, ok, err := a.git(ctx, append(args, "HEAD", "--", s.path)...)
	if err != nil || !ok {
		return times
	}
	commits := map[string]int64{}
	commit, line := "", 0
	for text := range strings.SplitSeq(out, "\n") {
		if code, ok := strings.CutPrefix(text, "\t"); ok {
			i := slices.IndexFunc(s.markers, func(m markerFact) bool { return m.line == line })
			if i >= 0 && strings.Contains(code, strings.TrimSuffix(s.markers[i].text, "…")) {
				times[i] = commits[commit]
			}
			continue
		}
		fields := strings.Fields(text)
		switch {
		case len(fields) >= 3 && len(fields[0]) >= 40:
			commit = fields[0]
			line, _ = strconv.Atoi(fields[2])
		case len(fields) == 2 && fields[0] == "committer-time":
			commits[commit], _ = strconv.ParseInt(fields[1], 10, 64)
		}
	}
	return times
}
