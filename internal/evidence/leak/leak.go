// Package leak owns the search for unknown secrets: private keys, and tokens whose form shows who issued them. The rules are
// those of gitleaks (see tools/leakrules); the search is deed's own. It does not know what a file held before, and judges
// nothing. A value leaves the package only through Finding.Value.
package leak

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// A File is one to be searched.
type File struct {
	Path string
	Open func() (io.ReadCloser, error)
}

// A Finding is a secret in a file.
type Finding struct {
	Rule string // its id, as github-pat
	Path string
	Line int    // of its first character, from 1
	Head string // how it begins, which is no secret: the armour of a key, or four characters

	value string
}

// Value is the secret itself. It is for those who hide it.
func (f Finding) Value() string { return f.value }

// Limits bound a search. Zero values are the usual ones.
type Limits struct {
	Time  time.Duration // of all files
	Bytes int64         // of one file
}

// The usual limits: far beyond what a person reviews, and seconds of work.
const (
	usualTime  = 30 * time.Second
	usualBytes = 64 << 20
)

// A Gap is a file that was not searched to its end.
type Gap struct{ Path, Why string }

// A Report is what a search found.
type Report struct {
	Findings []Finding // in the order of the files, then by line
	Gaps     []Gap
}

// errTime ends a search that takes too long.
var errTime = errors.New("the search took too long")

// Scan searches files, one after the other. A file with a NUL byte near its beginning is binary and is passed over. What could not be
// searched within the limits is a gap; an error means that a file could not be read, or that ctx ended.
func Scan(ctx context.Context, files []File, limits Limits) (Report, error) {
	var rep Report
	if len(files) == 0 {
		return rep, nil
	}
	if limits.Time == 0 {
		limits.Time = usualTime
	}
	if limits.Bytes == 0 {
		limits.Bytes = usualBytes
	}
	rules, err := shipped()
	if err != nil {
		return rep, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limits.Time, errTime)
	defer cancel()
	for _, f := range files {
		if err := context.Cause(ctx); errors.Is(err, errTime) {
			rep.Gaps = append(rep.Gaps, Gap{f.Path, fmt.Sprintf("the search of all files takes %s at most", limits.Time)})
			continue
		} else if err != nil {
			return Report{}, err
		}
		text, whole, err := read(f, limits.Bytes)
		if err != nil {
			return Report{}, fmt.Errorf("search %q for secrets: %w", f.Path, err)
		}
		if !whole {
			rep.Gaps = append(rep.Gaps, Gap{f.Path, fmt.Sprintf("it has more than %d bytes", limits.Bytes)})
		}
		found, err := rules.search(ctx, text)
		switch {
		case errors.Is(err, errTime):
			rep.Gaps = append(rep.Gaps, Gap{f.Path, fmt.Sprintf("the search of all files takes %s at most", limits.Time)})
		case err != nil:
			return Report{}, err
		}
		for _, x := range found {
			x.Path = f.Path
			rep.Findings = append(rep.Findings, x)
		}
	}
	return rep, nil
}

// sniffed is how much of a file is looked at to decide whether it is binary.
const sniffed = 8000

// read returns the text of a file, at most limit bytes of it, and whether that is all. A binary file has no text.
func read(f File, limit int64) (text []byte, whole bool, err error) {
	r, err := f.Open()
	if err != nil {
		return nil, false, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	head := make([]byte, sniffed)
	n, err := io.ReadFull(r, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, false, err
	}
	if head = head[:n]; bytes.IndexByte(head, 0) >= 0 {
		return nil, true, nil
	}
	text, err = io.ReadAll(io.LimitReader(io.MultiReader(bytes.NewReader(head), r), limit+1))
	if int64(len(text)) > limit {
		return text[:limit], false, err
	}
	return text, true, err
}

// step is how much of a text is looked at between two looks at the clock.
const step = 64 << 10

// A span is a part of a text in which a rule may match.
type span struct{ from, to int }

// search finds the secrets of a text. It goes once over the text for keywords, and a rule then sees their surroundings.
func (s *ruleSet) search(ctx context.Context, text []byte) ([]Finding, error) {
	spans := make([][]span, len(s.rules))
	note := func(end int, h hit) {
		r, list := s.rules[h.rule], spans[h.rule]
		at := span{max(end-h.length-r.reach, 0), min(end+r.reach, len(text))}
		if n := len(list); n > 0 && at.from <= list[n-1].to {
			list[n-1].to = at.to
			return
		}
		spans[h.rule] = append(list, at)
	}
	state := uint16(0)
	for from := 0; from < len(text); from += step {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		state = s.each(text[from:min(from+step, len(text))], state, from, note)
	}
	var found []match
	for i, list := range spans {
		for _, at := range list {
			more, err := s.rules[i].matches(ctx, text, at)
			if err != nil {
				return nil, err
			}
			found = append(found, more...)
		}
	}
	return findings(text, found), nil
}

// A match is where in a text a secret is.
type match struct {
	rule string
	span
}

// matches applies the rule to a part of a text, piece by piece.
func (r *rule) matches(ctx context.Context, text []byte, in span) ([]match, error) {
	c := r.compile()
	var out []match
	for from := in.from; from < in.to; from += step {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		end := min(from+step+2*r.reach, in.to)
		for _, m := range c.regex.FindAllSubmatchIndex(text[from:end], -1) {
			// At an end that is not the text's own a pattern takes a cut for a border.
			if m[0] == 0 && from > 0 || from+m[1] == end && end < len(text) {
				continue
			}
			at := r.secret(m)
			at.from, at.to = at.from+from, at.to+from
			if r.real(c, text[at.from:at.to]) && (len(out) == 0 || out[len(out)-1].from < at.from) {
				out = append(out, match{r.ID, at})
			}
		}
	}
	return out, nil
}

// secret is the part of a match that is the secret.
func (r *rule) secret(m []int) span {
	if r.Group > 0 {
		return span{m[2*r.Group], m[2*r.Group+1]}
	}
	for i := 2; i < len(m); i += 2 {
		if m[i] < m[i+1] {
			return span{m[i], m[i+1]}
		}
	}
	return span{m[0], m[1]}
}

// findings sorts what was found by place. Of secrets that overlap, which two rules found, the first stays.
func findings(text []byte, found []match) []Finding {
	slices.SortStableFunc(found, func(a, b match) int { return a.from - b.from })
	var out []Finding
	line, at, end := 1, 0, 0
	for _, m := range found {
		if m.from < end {
			continue
		}
		line += bytes.Count(text[at:m.from], []byte("\n"))
		at, end = m.from, m.to
		value := string(text[m.from:m.to])
		out = append(out, Finding{Rule: m.rule, Line: line, Head: head(m.rule, value), value: value})
	}
	return out
}
