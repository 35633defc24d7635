package baseline

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/base/canonjson"
)

// A Baseline is what a component accepted at some time. Identities is deed's own and ignored by other readers; all else
// has the names that they know.
type Baseline struct {
	CreatedAt string          `json:"created_at"` // UTC, seconds
	ContextID string          `json:"context_id"` // the component
	ItemCount int             `json:"item_count"`
	Known     []string        `json:"known_fingerprints"` // sorted; one entry for each item, so that equals count
	Metadata  json.RawMessage `json:"metadata"`

	// Identities are the second identities, each before the entry of Known that it belongs to: "FINGERPRINT ID". The two
	// stand in one text so that a merge of two branches cannot mix them up. Known has the last word: an entry that
	// somebody took out of it is not known, whatever stands here.
	Identities []string `json:"deed_identities,omitempty"`
}

// LintMetadata is the metadata of a baseline of lint findings.
type LintMetadata struct {
	FindingsCount int `json:"findings_count"`
}

// AuditMetadata is the metadata of a baseline of the audit.
type AuditMetadata struct {
	OutliersCount  int      `json:"outliers_count"`
	AlignmentScore *float64 `json:"alignment_score"`
	KnownOutliers  []string `json:"known_outliers"`
}

// New makes a baseline of all items.
func New(component string, now time.Time, items []Item, metadata any) (Baseline, error) {
	meta, err := json.Marshal(metadata)
	if err != nil {
		return Baseline{}, fmt.Errorf("encode the metadata of a baseline: %w", err)
	}
	b := Baseline{
		CreatedAt: now.UTC().Format("2006-01-02T15:04:05Z"),
		ContextID: component,
		ItemCount: len(items),
		Known:     make([]string, 0, len(items)),
		Metadata:  meta,
	}
	for _, it := range items {
		b.Known = append(b.Known, it.ID)
		if it.Fingerprint != "" {
			b.Identities = append(b.Identities, it.Fingerprint+" "+it.ID)
		}
	}
	b.sort()
	return b, nil
}

// Lint makes a baseline of lint findings.
func Lint(component string, now time.Time, fs []runner.LintFinding) (Baseline, error) {
	return New(component, now, LintItems(fs), LintMetadata{len(fs)})
}

// TestCounts makes a baseline of the counts of tests. It knows no items.
func TestCounts(component string, now time.Time, counts runner.TestResults) (Baseline, error) {
	return New(component, now, nil, counts)
}

// sort brings the entries in order. The second identities follow the ids as well: a diff then shows both alike.
func (b *Baseline) sort() {
	slices.Sort(b.Known)
	slices.SortFunc(b.Identities, byID)
}

func (b *Baseline) sorted() bool {
	return slices.IsSorted(b.Known) && slices.IsSortedFunc(b.Identities, byID)
}

// byID orders second identities.
func byID(x, y string) int {
	xf, xid, _ := strings.Cut(x, " ")
	yf, yid, _ := strings.Cut(y, " ")
	return cmp.Or(strings.Compare(xid, yid), strings.Compare(xf, yf))
}

// Parse reads a baseline as it is saved.
func Parse(raw json.RawMessage) (Baseline, error) {
	var b Baseline
	if err := jsonv2.Unmarshal(raw, &b, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); err != nil {
		var wrong *jsonv2.SemanticError
		if errors.As(err, &wrong) {
			err = fmt.Errorf("%s is of the wrong type", cmp.Or(strings.TrimPrefix(string(wrong.JSONPointer), "/"), "it"))
		}
		return Baseline{}, fmt.Errorf("read the baseline: %w; save it anew with --baseline, or go without it with --ignore-baseline", err)
	}
	return b, nil
}

// Counts returns the counts that a baseline of tests holds.
func (b Baseline) Counts() (runner.TestResults, error) {
	var counts runner.TestResults
	if err := json.Unmarshal(b.Metadata, &counts); err != nil {
		return counts, fmt.Errorf("read the counts of the baseline: %w; save it anew with --baseline", err)
	}
	return counts, nil
}

// Same reports whether two baselines have the same content. Saving one over the other would only change its date.
func (b Baseline) Same(other Baseline) bool {
	return b.ItemCount == other.ItemCount && slices.Equal(b.Known, other.Known) && slices.Equal(b.Identities, other.Identities) &&
		sameJSON(b.Metadata, other.Metadata)
}

func sameJSON(a, b json.RawMessage) bool {
	x, errX := canonjson.Canonicalize(a)
	y, errY := canonjson.Canonicalize(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

// Merge returns what is to be saved after a run that saw only some of the items: those that the old baseline knows and
// that were out of its sight, and all that it found. seen tells by an id whether the run would have found it.
func Merge(old, found Baseline, seen func(id string) bool) Baseline {
	merged := found
	merged.Known, merged.Identities = slices.Clone(found.Known), slices.Clone(found.Identities)
	for _, id := range old.Known {
		if !seen(id) {
			merged.Known = append(merged.Known, id)
		}
	}
	for _, entry := range old.Identities {
		if _, id, ok := strings.Cut(entry, " "); ok && !seen(id) {
			merged.Identities = append(merged.Identities, entry)
		}
	}
	merged.ItemCount = len(merged.Known)
	merged.sort()
	return merged
}
