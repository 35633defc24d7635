package check

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"time"

	"github.com/deedrun/deed/contract/settings"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/checks/testreport"
)

// An Exec runs one command to its end: on the host, or in a sandbox. When it returns no process of the command is left.
type Exec func(ctx context.Context, s proc.Spec) (proc.Exit, error)

// A Dir is one directory as deed sees it and as the script does. On the host they are the same.
type Dir struct{ Host, Inside string }

// Here is a directory that the script sees where it is.
func Here(path string) Dir { return Dir{path, path} }

// A Request is one run of one capability.
type Request struct {
	Capability  string // lint, test or build
	ComponentID string
	ExtensionID string
	Digest      string   // of the extension's files
	Commands    []string // lines for sh -c, run one after another until one fails
	Hooks       Hooks
	Settings    json.RawMessage // merged; nil: none
	Parse       *testreport.Spec
	Declared    map[string]string // by sidecar: the path below the run directory that the extension writes it to
	Options     Options

	Component Dir
	Extension string            // its directory, which the script sees where it is
	RunDir    Dir               // made by NewRunDir; what the script leaves is read from it
	Helpers   map[string]string // HOMEBOY_RUNTIME_* as the script sees them
	DeedBin   string            // this binary as the script sees it; empty: it is not there

	Artifact string                   // of a build: the file that it should leave, a glob below the component; empty: not said
	Versions []settings.VersionTarget // of a build: files that name the component's version

	Environ []string          // what the script inherits
	Env     map[string]string // the component's own variables, above those
	Exec    Exec
	Timeout time.Duration // of everything together; 0: DefaultTimeout
	Stdout  io.Writer     // get the output as it comes; nil: nobody
	Stderr  io.Writer
}

// DefaultTimeout bounds a run that names no limit of its own.
const DefaultTimeout = time.Hour

// Hooks are lines for sh -c around the capability. A failure in Pre ends the run; one in Post is only reported.
type Hooks struct{ Pre, Post []string }

// Options are what the caller asks of the script beyond its plain run.
type Options struct {
	Filter      Filter
	Summary     bool
	File, Glob  string // lint
	ErrorsOnly  bool
	Sniffs      string
	NoSniffs    string
	Category    string
	FixOnly     bool
	Plan        bool // with FixOnly: say what would be done, and do nothing
	SkipLint    bool
	Coverage    bool
	CoverageMin *float64 // of all lines, in percent; held by deed whatever the script does
	// ChangedMin asks for this coverage, in percent, of the lines of ChangedLines.
	ChangedMin    *float64
	ChangedLines  map[string][][2]int
	ChangedSince  string
	ChangedFiles  []string // lint: below the component; passed in a file, and as a glob if names allow it
	ChangedTests  []string // test: below the component
	RequireCounts bool     // a test run that counts nothing is no pass
	Args          []string // appended to the last command
}

// A Filter says which steps of a script run.
type Filter struct {
	Only, Skip []string
	// Any says that Only is what the manifest names and not what a person asked for: a script that has none of them here
	// has nothing to do, and that is no fault.
	Any bool
}

// NewFilter reads lists as people write them: separated by commas, with blanks.
func NewFilter(only, skip []string) Filter { return Filter{Only: normal(only), Skip: normal(skip)} }

// normal trims the items, and drops those that are empty or there twice. The scripts' own reading of a list does none
// of this: " lint" would match nothing, and a blank list would skip everything.
func normal(lists []string) []string {
	var out []string
	seen := map[string]bool{}
	for _, l := range lists {
		for item := range strings.SplitSeq(l, ",") {
			if item = strings.TrimSpace(item); item != "" && !seen[item] {
				seen[item] = true
				out = append(out, item)
			}
		}
	}
	return out
}
