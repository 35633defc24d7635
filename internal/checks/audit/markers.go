package audit

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/base/atomicfile"
	"github.com/deedrun/deed/internal/evidence/workspace"
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

// ages returns when the line of each marker was committed, by file. What git does not report in time is left out, with a warning.
func (a *audit) ages(ctx context.Context, marked []*source) map[string][]int64 {
	out := map[string][]int64{}
	if len(marked) == 0 || a.top == "" {
		return out
	}
	history, err := workspace.OpenHistory(ctx, a.top)
	if err != nil || history.Head() == "" {
		return out
	}
	defer history.Close()
	file, before := a.loadAges()
	known := map[string]ageRecord{}
	ctx, cancel := context.WithTimeout(ctx, blameTime)
	defer cancel()
	asked, left := 0, 0
	for _, s := range marked {
		digest := hex.EncodeToString(s.digest[:12])
		r := before[s.path]
		if r.Head != history.Head() || r.Digest != digest || len(r.Times) != len(s.markers) {
			if asked == maxBlamed || ctx.Err() != nil {
				left++
				continue
			}
			asked++
			r = ageRecord{Head: history.Head(), Digest: digest, Times: a.committed(ctx, history, s)}
		}
		known[s.path], out[s.path] = r, r.Times
	}
	if left > 0 {
		a.warnings = append(a.warnings, fmt.Sprintf("the age of the comments of %d files is not told: git was asked about %d files, for at most %s", left, asked, blameTime))
	}
	if b, err := json.Marshal(known); err == nil && file != "" && (asked > 0 || len(known) != len(before)) {
		_ = atomicfile.Replace(file, b, 0o600) // next time git is asked again
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

// committed asks git about the lines of a file's markers. A line that is no longer what was committed has no age.
func (a *audit) committed(ctx context.Context, history *workspace.History, s *source) []int64 {
	times := make([]int64, len(s.markers))
	lines := make([]int, len(s.markers))
	for i, m := range s.markers {
		lines[i] = m.line
	}
	found, err := history.Lines(ctx, path.Join(a.below, s.path), lines)
	if err != nil {
		return times
	}
	for _, l := range found {
		i := slices.Index(lines, l.Line)
		if i >= 0 && strings.Contains(l.Text, strings.TrimSuffix(s.markers[i].text, "…")) {
			times[i] = l.Time.Unix()
		}
	}
	return times
}
