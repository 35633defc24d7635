package coverage

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/checks/toolreport"
)

// readJSON reads one of the formats that are JSON objects. What their members look like tells which it is. Members are
// read one at a time, so a large report is not held whole.
func (b *builder) readJSON(r io.Reader) (string, error) {
	j := &coverageJSON{builder: b}
	if err := toolreport.Object(r, j.member); err != nil {
		return j.format, err
	}
	return j.end()
}

type coverageJSON struct {
	*builder
	format string
	totals jsontext.Value
}

func (j *coverageJSON) member(dec *jsontext.Decoder, name string) error {
	switch {
	case name == "files" && dec.PeekKind() == '[':
		return toolreport.Items(dec, j.item)
	case name == "files" && dec.PeekKind() == '{':
		return toolreport.Members(dec, j.fileMember)
	case name == "totals":
		raw, err := dec.ReadValue()
		j.totals = raw.Clone()
		return err
	case dec.PeekKind() == '{':
		return j.istanbul(dec, name)
	}
	return dec.SkipValue()
}

// A totals member is of the runner contract, or of coverage.py.
type totals struct {
	Lines   *stated `json:"lines"`
	Methods *stated `json:"methods"`
}

// stated is a sum as a tool states it. Numbers may be missing.
type stated struct {
	Pct     number `json:"pct"`
	Total   number `json:"total"`
	Covered number `json:"covered"`
}

// number takes anything, and is 0 where it is none: some writers have the text Unknown there.
type number float64

// UnmarshalJSON implements json.Unmarshaler.
func (n *number) UnmarshalJSON(data []byte) error {
	var v float64
	if json.Unmarshal(data, &v) == nil {
		*n = number(v)
	}
	return nil
}

func (n number) count() int { return int(math.Max(0, math.Min(float64(n), math.MaxInt32))) }

func (s *stated) count() runner.CoverageCount {
	c := runner.CoverageCount{
		Pct:     math.Max(0, math.Min(float64(s.Pct), 100)),
		Total:   s.Total.count(),
		Covered: min(s.Covered.count(), s.Total.count()),
	}
	if c.Pct == 0 {
		c.Pct = percent(sum{c.Total, c.Covered}, 0)
	}
	return c
}

// end settles what the format was.
func (j *coverageJSON) end() (string, error) {
	switch {
	case j.format == CoveragePy, j.format == Tarpaulin, j.format == Istanbul, j.format == IstanbulSummary:
		return j.format, nil
	case j.totals == nil:
		if j.format == Normalised {
			return j.format, errors.New("totals are missing")
		}
		return "", fmt.Errorf("%w: the members of the object are none that is known", ErrUnknownFormat)
	}
	var t totals
	if err := json.Unmarshal(j.totals, &t, toolreport.Lenient()); err != nil {
		return Normalised, fmt.Errorf("totals: %w", err)
	}
	if t.Lines == nil || t.Methods == nil {
		return Normalised, errors.New("totals.lines and totals.methods are needed, and are objects")
	}
	j.stated = &runner.CoverageTotals{Lines: t.Lines.count(), Methods: t.Methods.count()}
	return Normalised, nil
}

// item takes a file from an array: of the runner contract, or of tarpaulin.
func (j *coverageJSON) item(raw jsontext.Value) error {
	var f struct {
		File    string         `json:"file"`
		LinePct number         `json:"line_pct"`
		Path    jsontext.Value `json:"path"`
		Traces  []struct {
			Line  int       `json:"line"`
			Stats lineStats `json:"stats"`
		} `json:"traces"`
	}
	if err := json.Unmarshal(raw, &f, toolreport.Lenient()); err != nil {
		return err
	}
	if f.Path == nil {
		j.format = Normalised
		out, err := j.file(f.File)
		if err != nil {
			return err
		}
		out.stated, out.pct = true, math.Max(0, math.Min(float64(f.LinePct), 100))
		return nil
	}
	j.format = Tarpaulin
	out, err := j.file(pathOf(f.Path))
	if err != nil {
		return err
	}
	for _, t := range f.Traces {
		if err := j.hit(out, t.Line, int(t.Stats)); err != nil {
			return err
		}
	}
	return nil
}

// pathOf reads a path that is a text or an array of its parts.
func pathOf(raw jsontext.Value) string {
	var whole string
	if json.Unmarshal(raw, &whole) == nil {
		return whole
	}
	var parts []string
	if json.Unmarshal(raw, &parts) != nil {
		return ""
	}
	joined := strings.Join(parts, "/")
	if len(parts) > 0 && parts[0] == "/" {
		return joined[1:] // the root is a part of its own
	}
	return joined
}

// lineStats is how often tarpaulin saw a line: {"Line": n}, or a plain number.
type lineStats int

// UnmarshalJSON implements json.Unmarshaler.
func (s *lineStats) UnmarshalJSON(data []byte) error {
	var named struct{ Line number }
	var plain number
	if json.Unmarshal(data, &named) == nil {
		plain = named.Line
	} else if err := json.Unmarshal(data, &plain); err != nil {
		return err
	}
	*s = lineStats(plain.count())
	return nil
}

// fileMember takes a file from an object: of coverage.py, or an array with the hits of each line.
func (j *coverageJSON) fileMember(dec *jsontext.Decoder, name string) error {
	raw, err := dec.ReadValue()
	if err != nil {
		return err
	}
	out, err := j.file(name)
	if err != nil {
		return err
	}
	if raw.Kind() == '[' {
		j.format = Tarpaulin
		var traces []struct {
			Line int    `json:"line"`
			Hits number `json:"hits"`
		}
		if err := json.Unmarshal(raw, &traces, toolreport.Lenient()); err != nil {
			return err
		}
		for i, t := range traces {
			if t.Line == 0 {
				t.Line = i + 1
			}
			if err := j.hit(out, t.Line, t.Hits.count()); err != nil {
				return err
			}
		}
		return nil
	}
	j.format = CoveragePy
	var f struct {
		Executed []int `json:"executed_lines"`
		Missing  []int `json:"missing_lines"`
	}
	if err := json.Unmarshal(raw, &f, toolreport.Lenient()); err != nil {
		return err
	}
	for _, line := range f.Executed {
		if err := j.hit(out, line, 1); err != nil {
			return err
		}
	}
	for _, line := range f.Missing {
		if err := j.hit(out, line, 0); err != nil {
			return err
		}
	}
	return nil
}

// istanbulFile is a file of coverage-final.json, or of coverage-summary.json.
type istanbulFile struct {
	Path       string            `json:"path"`
	Statements map[string]region `json:"statementMap"`
	S          map[string]number `json:"s"`
	F          map[string]number `json:"f"`
	Lines      *stated           `json:"lines"`
	Functions  *stated           `json:"functions"`
}

type region struct {
	Start struct {
		Line int `json:"line"`
	} `json:"start"`
}

func (j *coverageJSON) istanbul(dec *jsontext.Decoder, name string) error {
	raw, err := dec.ReadValue()
	if err != nil {
		return err
	}
	var f istanbulFile
	if json.Unmarshal(raw, &f, toolreport.Lenient()) != nil {
		f = istanbulFile{} // a member of some other document
	}
	switch {
	case f.Statements != nil:
		j.format = Istanbul
	case f.Lines != nil:
		j.format = IstanbulSummary
	default:
		return nil
	}
	if name == "total" && j.format == IstanbulSummary {
		t := runner.CoverageTotals{Lines: f.Lines.count()}
		if f.Functions != nil {
			t.Methods = f.Functions.count()
		}
		j.stated = &t
		return nil
	}
	if f.Path == "" {
		f.Path = name
	}
	out, err := j.file(f.Path)
	if err != nil {
		return err
	}
	if j.format == IstanbulSummary {
		out.stated, out.pct = true, f.Lines.count().Pct
		out.lines = sum{f.Lines.Total.count(), f.Lines.count().Covered}
		return nil
	}
	for id, at := range f.Statements {
		if err := j.hit(out, at.Start.Line, f.S[id].count()); err != nil {
			return err
		}
	}
	for _, n := range f.F {
		out.methods.add(n > 0)
	}
	return nil
}
