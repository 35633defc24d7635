package coverage

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/checks/toolreport"
)

// The formats that are read.
const (
	Normalised      = "normalised" // the shape of the runner contract
	Clover          = "clover"
	Cobertura       = "cobertura"
	LCOV            = "lcov"
	IstanbulSummary = "istanbul-summary" // coverage-summary.json
	Istanbul        = "istanbul"         // coverage-final.json
	GoProfile       = "go"               // go test -coverprofile
	Tarpaulin       = "tarpaulin"
	CoveragePy      = "coverage.py" // coverage json
)

// Bounds of a report.
const (
	MaxInput = 512 << 20 // bytes
	MaxFiles = 200_000
	MaxLines = 4_000_000 // lines of all files together
	maxLine  = 1_000_000 // the number of a line
)

var (
	// ErrUnknownFormat is wrapped when a text is in no known format.
	ErrUnknownFormat = errors.New("no known format of coverage")
	// ErrTooLarge is wrapped when a report goes beyond a bound.
	ErrTooLarge = errors.New("the coverage report is too large")
)

// Parse detects the format of a report, reads it, and names the format. The files are relative to the component in root, each
// once, in the order of their names.
func Parse(r io.Reader, root string) (runner.Coverage, string, error) {
	limited := &io.LimitedReader{R: r, N: MaxInput + 1}
	in := bufio.NewReaderSize(limited, 64<<10)
	paths := toolreport.OpenPaths(root)
	defer paths.Close()
	b := &builder{paths: paths, files: map[string]*file{}}
	format, err := b.read(in)
	if limited.N <= 0 {
		err = fmt.Errorf("%w: more than %d bytes", ErrTooLarge, MaxInput)
	}
	if err != nil {
		if format != "" {
			err = fmt.Errorf("read %s: %w", format, err)
		}
		return runner.Coverage{}, format, err
	}
	return b.coverage(), format, nil
}

// read detects the format and reads the report.
func (b *builder) read(in *bufio.Reader) (string, error) {
	head, err := in.Peek(4 << 10)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	text := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n")
	switch {
	case bytes.HasPrefix(text, []byte("<")):
		return b.readXML(in)
	case bytes.HasPrefix(text, []byte("{")):
		return b.readJSON(in)
	case bytes.HasPrefix(text, []byte("mode: ")):
		return GoProfile, b.readGo(in)
	case bytes.HasPrefix(text, []byte("TN:")), bytes.HasPrefix(text, []byte("SF:")):
		return LCOV, b.readLCOV(in)
	}
	return "", fmt.Errorf("%w: it begins with %q", ErrUnknownFormat, text[:min(len(text), 40)])
}

// builder gathers the files of a report.
type builder struct {
	paths *toolreport.Paths
	files map[string]*file
	lines int
	// stated are the sums of a format without lines.
	stated *runner.CoverageTotals
}

// file is what is known of one file. A format has lines, or sums, or both.
type file struct {
	hits    map[int]int
	lines   sum
	methods sum
	pct     float64 // of a format that has only this
	stated  bool
}

type sum struct{ total, covered int }

func (s *sum) add(covered bool) {
	s.total++
	if covered {
		s.covered++
	}
}

// file is the file of a path, the same for all ways in which a tool writes it.
func (b *builder) file(told string) (*file, error) {
	name := b.paths.Below(told)
	if name == "" {
		name = "?" // so the contract calls it
	}
	f := b.files[name]
	if f == nil {
		if len(b.files) >= MaxFiles {
			return nil, fmt.Errorf("%w: more than %d files", ErrTooLarge, MaxFiles)
		}
		f = &file{hits: map[int]int{}}
		b.files[name] = f
	}
	return f, nil
}

// hit counts how often a line was run. For a line that is listed several times, the highest count holds: a format that lists a
// line for each of its parts, or for each run, means the same line.
func (b *builder) hit(f *file, line, times int) error {
	if line < 1 {
		return nil // there is no such line; some tools write 0 for what they cannot place
	}
	if line > maxLine {
		return fmt.Errorf("%w: line %d (at most %d)", ErrTooLarge, line, maxLine)
	}
	so, known := f.hits[line]
	if !known {
		if b.lines++; b.lines > MaxLines {
			return fmt.Errorf("%w: more than %d lines", ErrTooLarge, MaxLines)
		}
	}
	f.hits[line] = max(so, times)
	return nil
}

// coverage sums up.
func (b *builder) coverage() runner.Coverage {
	var lines, methods sum
	c := runner.Coverage{Files: make([]runner.CoveredFile, 0, len(b.files))}
	for name, f := range b.files {
		if f.lines.total == 0 {
			for _, n := range f.hits {
				f.lines.add(n > 0)
			}
		}
		out := runner.CoveredFile{File: name, LinePct: percent(f.lines, 100)}
		if f.stated {
			out.LinePct = f.pct
		}
		if len(f.hits) > 0 {
			out.Hits = f.hits
		}
		lines.total += f.lines.total
		lines.covered += f.lines.covered
		methods.total += f.methods.total
		methods.covered += f.methods.covered
		c.Files = append(c.Files, out)
	}
	slices.SortFunc(c.Files, func(x, y runner.CoveredFile) int { return strings.Compare(x.File, y.File) })
	if b.stated != nil {
		c.Totals = *b.stated
		return c
	}
	c.Totals = runner.CoverageTotals{Lines: count(lines), Methods: count(methods)}
	return c
}

// count converts a sum. Zero of zero lines counts as zero percent: a report without a line meets no threshold.
func count(s sum) runner.CoverageCount {
	return runner.CoverageCount{Pct: percent(s, 0), Total: s.total, Covered: s.covered}
}

// percent is rounded down to a hundredth, so that a threshold that is reported as met is met.
func percent(s sum, ofNothing float64) float64 {
	if s.total == 0 {
		return ofNothing
	}
	return math.Floor(float64(s.covered)/float64(s.total)*1e4) / 1e2
}

// times reads how often something was run. Tools write large numbers as floats, and 0 or less for never.
func times(s string) int {
	v, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || !(v > 0) {
		return 0
	}
	return int(math.Min(math.Ceil(v), math.MaxInt32))
}
