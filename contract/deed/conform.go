package deed

import (
	"fmt"

	"github.com/deedrun/deed/contract/fault"
)

// SchemaConformReport is the id of ConformReport.
const SchemaConformReport = "deed/conform.report/v1"

// How much a check of the conformance suite matters.
const (
	ConformMust   = "must"   // a host cannot work with a provider that breaks it
	ConformShould = "should" // the contract asks for it, and hosts put up with less
)

// What came of a check of the conformance suite.
const (
	ConformPass = "pass"
	ConformWarn = "warn" // the contract asks for more, and a host can deal with it
	ConformFail = "fail"
	ConformSkip = "skip" // there was nothing to look at
)

// A ConformReport says how a runtime package keeps the provider command contract.
type ConformReport struct {
	Schema  string         `json:"schema"`
	Package string         `json:"package" jsonschema:"minLength=1,maxLength=512"`
	Path    string         `json:"path" jsonschema:"minLength=1"`
	Version string         `json:"version,omitempty"`
	Digest  string         `json:"digest,omitempty"`                                             // of all files of the package
	Walls   string         `json:"isolation,omitempty" jsonschema:"enum=process,enum=namespace"` // what its commands ran behind
	Passed  bool           `json:"passed"`                                                       // no check of level must failed
	Totals  ConformTotals  `json:"totals"`
	Checks  []ConformCheck `json:"checks"`
}

// ConformTotals counts the checks by what came of them.
type ConformTotals struct {
	Pass int `json:"pass" jsonschema:"minimum=0"`
	Warn int `json:"warn" jsonschema:"minimum=0"`
	Fail int `json:"fail" jsonschema:"minimum=0"`
	Skip int `json:"skip" jsonschema:"minimum=0"`
}

// A ConformCheck is one check. Its id never changes its meaning.
type ConformCheck struct {
	ID       string `json:"id" jsonschema:"minLength=1,maxLength=512"`
	Provider string `json:"provider,omitempty"` // absent: it is about the package
	Level    string `json:"level" jsonschema:"enum=must,enum=should"`
	Result   string `json:"result" jsonschema:"enum=pass,enum=warn,enum=fail,enum=skip"`
	Rule     string `json:"rule" jsonschema:"minLength=1"`
	Reason   string `json:"reason,omitempty"`   // why, when it did not pass
	Evidence string `json:"evidence,omitempty"` // the end of what the command said
}

// Validate returns every fault of the report.
func (r ConformReport) Validate() error {
	var l fault.List
	if r.Schema != SchemaConformReport {
		l.Add("$.schema", fault.WrongSchema, fmt.Sprintf("%q is not the schema of this record", clip(r.Schema)), fmt.Sprintf("write %q", SchemaConformReport))
	}
	l.Name("$.package", r.Package)
	l.Say("$.path", r.Path)
	var got ConformTotals
	broken := false
	for i, c := range r.Checks {
		at := fault.Index("$.checks", i)
		l.Name(at+".id", c.ID)
		l.OptionalName(at+".provider", c.Provider)
		l.Say(at+".rule", c.Rule)
		fault.OneOf(&l, at+".level", c.Level, ConformMust, ConformShould)
		fault.OneOf(&l, at+".result", c.Result, ConformPass, ConformWarn, ConformFail, ConformSkip)
		if c.Result != ConformPass && c.Reason == "" {
			l.Add(at+".reason", fault.Conflict, "is missing, and the result is "+clip(c.Result), "say why")
		}
		got.Add(c.Result)
		broken = broken || c.Result == ConformFail && c.Level == ConformMust
	}
	if got != r.Totals {
		l.Add("$.totals", fault.Conflict, fmt.Sprintf("is %+v, and the checks are %+v", r.Totals, got), "count the checks")
	}
	if r.Passed == broken {
		l.Add("$.passed", fault.Conflict, fmt.Sprintf("is %v, and a check of level must failed: %v", r.Passed, broken), "say whether one failed")
	}
	return l.Err()
}

// Add counts one result.
func (t *ConformTotals) Add(result string) {
	switch result {
	case ConformPass:
		t.Pass++
	case ConformWarn:
		t.Warn++
	case ConformFail:
		t.Fail++
	case ConformSkip:
		t.Skip++
	}
}
