package testreport

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/deedrun/deed/contract/runner"
)

// The formats that are read.
const (
	JUnit  = "junit"   // JUnit XML in the dialects of its many writers
	GoJSON = "go-json" // go test -json
	GoText = "go-text" // go test -v
	TAP    = "tap"     // versions 12 to 14
	Jest   = "jest"    // the JSON of Jest and Vitest
	Mocha  = "mocha"   // the JSON of Mocha
	Cargo  = "cargo"   // what cargo test prints
	Pytest = "pytest"  // what pytest prints

	// Read only where the caller asks for them by name.
	Nextest = "nextest" // what cargo nextest prints
	Events  = "events"  // JSON lines of deed's own reporters
)

// The types of failures that are not those of a test but of what should have run it.
const (
	TypeBuild      = "build"      // the tests could not be built
	TypeLoad       = "load"       // a file with tests could not be loaded
	TypeSuite      = "suite"      // a suite failed outside its tests
	TypePlan       = "plan"       // not as many tests as were announced
	TypeBailOut    = "bail-out"   // the run gave up
	TypeUnfinished = "unfinished" // a test began and did not end
	TypeWaiting    = "waiting"    // a test began and waited for others when the run ended
)

// Broken is the partial label of a report that could not be read to its end: the part before is reported, and the rest is
// unknown.
const Broken = "broken-report"

// A Report is what a tool reported about its tests. Results are counted from Cases where the format names every test, and are the
// tool's own sums otherwise. Warnings say what was odd about the report.
type Report struct {
	Format   string
	Results  runner.TestResults
	Cases    []runner.TestCase
	Failures []runner.TestFailure
	Warnings []string
}

// Bounds of a report.
const (
	MaxInput   = 512 << 20 // bytes
	MaxCases   = 1 << 20
	MaxName    = 1 << 10 // bytes of a name or a suite; longer ones keep their beginning and get a digest
	MaxMessage = 8 << 10 // bytes of a message
	maxTexts   = 64 << 20
)

var (
	// ErrUnknownFormat is wrapped when a text is in no known format.
	ErrUnknownFormat = errors.New("no known format of test results")
	// ErrTooLarge is wrapped when a report goes beyond a bound. What was read before is returned with it.
	ErrTooLarge = errors.New("the report is too large")
	// ErrTruncated is wrapped when a report ends in the middle. What was read before is returned with it.
	ErrTruncated = errors.New("the report ends in the middle")
)

// readers read each format.
var readers = map[string]func(io.Reader, *collector) error{
	JUnit:   readJUnit,
	GoJSON:  readGoJSON,
	GoText:  readGoText,
	TAP:     readTAP,
	Jest:    readJest,
	Mocha:   readMocha,
	Cargo:   readCargo,
	Pytest:  readPytest,
	Nextest: readNextest,
	Events:  readEvents,
}

// Parse reads a report in the format that its content shows. With an error comes what was read before it, marked as
// partial: the failures in a broken report are not lost.
func Parse(r io.Reader) (Report, error) {
	in := bufio.NewReaderSize(r, detectWindow)
	head, err := in.Peek(detectWindow)
	if err != nil && !errors.Is(err, io.EOF) {
		return Report{}, err
	}
	format := detect(head)
	if format == "" {
		return Report{}, fmt.Errorf("%w: it begins with %q", ErrUnknownFormat, begin(head))
	}
	return ParseAs(format, in)
}

// ParseAs reads a report in a known format.
func ParseAs(format string, r io.Reader) (Report, error) {
	read, ok := readers[format]
	if !ok {
		return Report{}, fmt.Errorf("%w: %q", ErrUnknownFormat, format)
	}
	c := &collector{format: format}
	limited := &io.LimitedReader{R: r, N: MaxInput + 1}
	err := read(limited, c)
	if limited.N <= 0 {
		err = fmt.Errorf("%w: more than %d bytes", ErrTooLarge, MaxInput)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = fmt.Errorf("%w: %w", ErrTruncated, err)
	}
	report := c.report()
	if err != nil {
		report.Results.Partial = Broken
		return report, fmt.Errorf("read %s: %w", format, err)
	}
	return report, nil
}

// begin is the first line of a text, for people.
func begin(head []byte) string {
	line, _, _ := bytes.Cut(bytes.TrimSpace(head), []byte("\n"))
	return strings.ToValidUTF8(string(line[:min(len(line), 60)]), "")
}
