package fanout

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/checks/finding"
)

// Packets reads findings for PlanFindings from what checks leave: a report of `deed lint`, `deed test` or `deed audit` with its envelope or without, a
// verification of several phases, an array of findings as runners write it, or a SARIF log. A report is one packet. Each finding has a type (its rule), a
// severity, a path and a message in addition to its own members; fresh leaves out those that the baseline has. A report that came to no findings because it is
// an error or a summary is refused: no finding would be a claim.
func Packets(data []byte, fresh bool) ([]map[string]homeboy.Value, error) {
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	switch kind(data) {
	case '{':
	case 0: // what a check that broke off leaves in a file; no finding would be a claim
		return nil, badReport("is empty", "run the check again until it reports")
	default:
		return listed("findings", data, fresh)
	}
	if !json.Valid(data) {
		return nil, badReport("is not JSON", "write the report with --json")
	}
	o, err := parseObject(data)
	if err != nil {
		return nil, fmt.Errorf("read report: %w", err)
	}
	if text(o.get("schema")) == "" && o.get("success") != nil {
		return fromEnvelope(o, fresh)
	}
	switch schema := text(o.get("schema")); schema {
	case runner.SchemaReport:
		return fromReport(data, fresh)
	case runner.SchemaAudit:
		return fromAudit(data, fresh)
	case runner.SchemaVerification:
		return fromVerification(data, fresh)
	case "":
		if o.get("runs") == nil {
			return nil, badReport("names no schema and is no SARIF log", "give the output of deed lint, test, check or audit with --json, or a SARIF log")
		}
		return listed("sarif", data, fresh)
	default:
		return nil, badReport(fmt.Sprintf("%q is not the schema of a report", clip(schema)), "give the output of deed lint, test, check or audit with --json, or a SARIF log")
	}
}

func badReport(message, remedy string) error {
	return fault.Faults{{Path: fault.Root, Code: fault.WrongSchema, Message: message, Remedy: remedy}}
}

func fromEnvelope(o object, fresh bool) ([]map[string]homeboy.Value, error) {
	if d := o.get("data"); !d.Null() {
		if kind(d) != '{' {
			return nil, badReport("has data that is no report", "give the output of deed lint --json as it is")
		}
		return Packets(d, fresh)
	}
	why := text(at(o.get("error"), []string{"message"}))
	return nil, badReport("has no report: "+or(clip(why), "the check did not run"), "run the check again until it reports")
}

// listed reads what package finding reads.
func listed(id string, data []byte, fresh bool) ([]map[string]homeboy.Value, error) {
	fs, err := finding.Read(bytes.NewReader(data), "")
	if err != nil {
		return nil, err // findings that could not be read would be missing from the plan
	}
	return packet(id, "", "", lintFindings(fs, fresh)), nil
}

func fromReport(data []byte, fresh bool) ([]map[string]homeboy.Value, error) {
	var r runner.Report
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, badReport(err.Error(), "give the report as deed wrote it")
	}
	return reported(r, fresh)
}

func reported(r runner.Report, fresh bool) ([]map[string]homeboy.Value, error) {
	if r.Summary != nil {
		return nil, badReport("is a summary and does not have every finding", "run the check without --summary")
	}
	fs := append(lintFindings(r.LintFindings, fresh), failedTests(r)...)
	if len(fs) == 0 && len(r.LintFindings) == 0 && !r.Passed {
		if r.Failure == nil || r.Failure.Category != runner.CategoryFindings {
			return nil, badReport(fmt.Sprintf("did not pass and has no findings: %s", or(clip(r.Phase.Summary), r.Status)), "fix the check first")
		}
		// A build that fails has no list; that it fails is the finding.
		fs = []object{packetMembers(nil, found{r.Capability, r.Capability + "_failure", "error", "", or(r.Failure.Summary, r.Phase.Summary)})}
	}
	return packet(strings.Trim(r.Component+":"+r.Capability, ":"), r.Component, r.Capability, fs), nil
}

func fromVerification(data []byte, fresh bool) ([]map[string]homeboy.Value, error) {
	var v runner.Verification
	if err := json.Unmarshal(data, &v); err != nil {
		return nil, badReport(err.Error(), "give the report as deed wrote it")
	}
	var out []map[string]homeboy.Value
	var l fault.List
	for i, p := range v.Phases {
		if p.Report != nil {
			more, err := reported(*p.Report, fresh)
			l.Within(fault.Index("$.phases", i)+".report", err)
			out = append(out, more...)
		}
		if p.Audit != nil {
			out = append(out, audited(*p.Audit, fresh)...)
		}
	}
	return out, l.Err()
}

func fromAudit(data []byte, fresh bool) ([]map[string]homeboy.Value, error) {
	var r runner.AuditReport
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, badReport(err.Error(), "give the report as deed wrote it")
	}
	return audited(r, fresh), nil
}

func audited(r runner.AuditReport, fresh bool) []map[string]homeboy.Value {
	var out []object
	for _, f := range r.Findings {
		if fresh && f.Known {
			continue
		}
		raw, _ := json.Marshal(f) // strings, a number and flags
		out = append(out, packetMembers(raw, found{or(f.Identity, f.Fingerprint), f.Kind, f.Severity, f.File, f.Description}))
	}
	return packet(strings.Trim(r.ComponentID+":audit", ":"), r.ComponentID, "audit", out)
}

// found is what a plan needs of every finding, whatever made it.
type found struct{ id, kind, severity, path, message string }

// packetMembers adds the members that packets have to those that a finding came with.
func packetMembers(raw homeboy.Value, f found) object {
	o, err := parseObject(raw)
	if err != nil {
		o = nil
	}
	for _, m := range []struct{ name, value string }{{"id", f.id}, {"type", f.kind}, {"severity", f.severity}, {"path", f.path}, {"message", f.message}} {
		if m.value != "" {
			o = o.with(m.name, quote(m.value))
		}
	}
	return o
}

func lintFindings(fs []runner.LintFinding, fresh bool) []object {
	var out []object
	for _, f := range fs {
		if fresh && f.Known {
			continue
		}
		raw, err := json.Marshal(f)
		if err != nil {
			raw = nil // a member of a tool's own that is no JSON; what deed knows of the finding stays
		}
		out = append(out, packetMembers(raw, found{or(f.Fingerprint, f.ID), or(or(f.Rule, f.Category), f.Tool), f.Severity, f.File, f.Message}))
	}
	return out
}

// failedTests returns the failures of a test run: those that its runner described, or those that it only named.
func failedTests(r runner.Report) []object {
	var out []object
	for _, f := range r.Failures {
		raw, _ := json.Marshal(f) // strings and a number
		out = append(out, packetMembers(raw, found{or(f.TestName, f.TestFile), "test_failure", "error", or(f.SourceFile, f.TestFile), or(f.Message, f.TestName)}))
	}
	if len(out) > 0 {
		return out
	}
	for _, f := range r.FailedTests {
		raw, _ := json.Marshal(f)
		path, _, _ := strings.Cut(f.Location, ":")
		out = append(out, packetMembers(raw, found{f.Name, "test_failure", "error", path, or(f.Detail, f.Name)}))
	}
	return out
}

// packet makes one packet of the findings of a report.
func packet(id, component, capability string, fs []object) []map[string]homeboy.Value {
	var list bytes.Buffer
	list.WriteByte('[')
	for i, f := range fs {
		if i > 0 {
			list.WriteByte(',')
		}
		list.Write(f.write())
	}
	list.WriteByte(']')
	p := map[string]homeboy.Value{"id": quote(or(id, "findings")), "findings": list.Bytes()}
	if component != "" {
		p["component"] = quote(component)
	}
	if capability != "" {
		p["capability"] = quote(capability)
	}
	return []map[string]homeboy.Value{p}
}
