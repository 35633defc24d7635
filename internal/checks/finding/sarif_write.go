package finding

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"net/url"
	"path"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/deedrun/deed/contract/runner"
)

const (
	sarifSchema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"
	// fingerprintKey names deed's fingerprint among a result's partial ones.
	fingerprintKey = "deedFingerprint/v1"
	// repository is the base that paths are relative to; what it is, the reader of a log knows.
	repository = "%SRCROOT%"
)

// WriteSARIF writes a report as a SARIF 2.1.0 log with a run for each tool. prefix is the component's place in the
// repository, empty at its root. With a baseline each result says whether it is new. A run that could not tell anything
// is an invocation that did not come to its end.
func WriteSARIF(w io.Writer, rep runner.Report, prefix string) error {
	log := sarifLog{Schema: sarifSchema, Version: "2.1.0", Runs: []sarifRun{}}
	byTool := map[string][]note{}
	for _, n := range notes(&rep) {
		byTool[n.tool] = append(byTool[n.tool], n)
	}
	if len(byTool) == 0 {
		byTool[cmp.Or(rep.Extension, "deed")] = nil
	}
	for _, tool := range slices.Sorted(maps.Keys(byTool)) {
		log.Runs = append(log.Runs, sarifRunOf(&rep, tool, byTool[tool], prefix))
	}
	if err := json.MarshalWrite(w, log, json.Deterministic(true), jsontext.WithIndent("  "), jsontext.AllowInvalidUTF8(true)); err != nil {
		return fmt.Errorf("write SARIF: %w", err)
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func sarifRunOf(rep *runner.Report, tool string, all []note, prefix string) sarifRun {
	run := sarifRun{
		Automation:  &sarifAutomation{ID: "deed/" + rep.Capability + "/" + rep.Component + "/" + tool + "/"},
		Invocations: []sarifInvocation{invocation(rep)},
		Bases:       map[string]sarifLocation{repository: {}},
		Results:     make([]sarifResult, 0, len(all)),
	}
	run.Tool.Driver.Name = tool
	rules := map[string]int{}
	for _, n := range all {
		rules[n.rule] = 0
	}
	delete(rules, "")
	for i, id := range slices.Sorted(maps.Keys(rules)) {
		rules[id] = i
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{ID: id})
	}
	for _, n := range all {
		r := result(n, prefix)
		if i, ok := rules[n.rule]; ok {
			r.RuleIndex = &i
		}
		if rep.Baseline != nil && n.finding != nil {
			r.BaselineState = "new"
			if n.finding.Known {
				r.BaselineState = "unchanged"
			}
		}
		run.Results = append(run.Results, r)
	}
	return run
}

func invocation(rep *runner.Report) sarifInvocation {
	good := rep.Status != runner.StatusError
	inv := sarifInvocation{Successful: &good, ExitCode: rep.RunnerExit}
	if !good && rep.Failure != nil {
		inv.Notifications = []sarifNotification{{Level: "error", Message: sarifMessage{Text: rep.Failure.Summary}}}
	}
	return inv
}

func result(n note, prefix string) sarifResult {
	r := sarifResult{
		RuleID:  n.rule,
		Level:   [...]string{"error", "warning", "note"}[n.level],
		Message: sarifMessage{Text: cmp.Or(n.message, n.title, "no message")},
	}
	if n.file != "" {
		var p sarifPlace
		p.Physical.Artifact = artifact(below(prefix, n.file))
		if n.line > 0 {
			p.Physical.Region = &sarifRegion{StartLine: n.line, StartColumn: n.column}
		}
		r.Locations = []sarifPlace{p}
	}
	if f := n.finding; f != nil {
		r.Partial = partial(f)
		r.Properties = &sarifProperties{Category: text(f.Category), ID: text(f.ID)}
	}
	return r
}

func text(s string) jsontext.Value {
	if s == "" {
		return nil
	}
	return jsontext.Value(quote(s))
}

// partial returns the partial fingerprints that the tool gave, and deed's.
func partial(f *runner.LintFinding) map[string]string {
	out := map[string]string{}
	if given, ok := f.Extra[partialKey]; ok && json.Unmarshal(given, &out) != nil {
		out = map[string]string{}
	}
	if f.Fingerprint != "" {
		out[fingerprintKey] = f.Fingerprint
	}
	return out
}

// artifact writes a path as a URI, with what a URI cannot hold escaped.
func artifact(file string) sarifLocation {
	if path.IsAbs(file) {
		return sarifLocation{URI: (&url.URL{Scheme: "file", Path: file}).String()}
	}
	return sarifLocation{URI: (&url.URL{Path: file}).String(), BaseID: repository}
}
