package outcome

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/contract/schema"
)

// The classes of diagnostics about outputs that a request declares.
const (
	CodeOutputMissing     = "agent_task.output_missing"
	CodeOutputMalformed   = "agent_task.output_malformed"
	CodeOutputOversized   = "agent_task.output_oversized"
	CodeOutputEvidence    = "agent_task.output_evidence_missing"
	CodeOutputDeclaration = "agent_task.output_declaration_invalid"
)

// schemaSteps bounds what the structural schemas of one request may ask for: about a second.
const schemaSteps = 1_000_000

// verifyOutputs checks the outputs that a request declares. A success with a faulty required output needs a review;
// the output stays unchanged. A failure needs no outputs.
func verifyOutputs(o *homeboy.Outcome, q homeboy.Request) {
	if !homeboy.IsSuccess(o.Status) && o.Status != homeboy.CandidateRecoverable {
		return
	}
	budget := schema.NewBudget(schemaSteps)
	broken := false
	for _, d := range q.OutputDeclarations {
		out, there := o.Outputs[d.Name]
		if !there || out.Null() {
			if d.Required {
				addDiagnostic(o, CodeOutputMissing, fmt.Sprintf("the required output %q is not there", clip(d.Name)), outputData(d, "return it under outputs"))
				broken = true
			}
			continue
		}
		if outputFault(o, d, out, budget) {
			broken = broken || d.Required
		}
	}
	if broken && homeboy.IsSuccess(o.Status) {
		o.Metadata = with(o.Metadata, "provider_status", o.Status)
		o.Status = homeboy.CandidateRecoverable
	}
}

// outputFault reports everything that is wrong with an output that is there.
func outputFault(o *homeboy.Outcome, d homeboy.OutputDeclaration, out homeboy.Value, budget *schema.Budget) bool {
	before := len(o.Diagnostics)
	var text bytes.Buffer
	if err := json.Compact(&text, out); err == nil && d.MaxBytes > 0 && int64(text.Len()) > d.MaxBytes {
		addDiagnostic(o, CodeOutputOversized, fmt.Sprintf("the output %q has %d bytes (at most %d)", clip(d.Name), text.Len(), d.MaxBytes), outputData(d, "return less, and the rest as an artifact"))
	}
	members, _ := object(out)
	if said, ok := members["schema"].Text(); ok && said != d.Schema {
		addDiagnostic(o, CodeOutputMalformed, fmt.Sprintf("the output %q names the schema %q, and %q was asked for", clip(d.Name), clip(said), clip(d.Schema)), outputData(d, "return what was asked for"))
	}
	if d.StructuralSchema != nil {
		structure(o, d, out, budget)
	}
	if r := d.EvidenceRelationship; r != nil && !hasEvidence(o, r.Evidence) {
		addDiagnostic(o, CodeOutputEvidence, fmt.Sprintf("the output %q comes without its evidence %s %s", clip(d.Name), clip(r.Evidence.Kind), clip(r.Evidence.URI)), outputData(d, "add it to evidence_refs"))
	}
	return len(o.Diagnostics) > before
}

// structure checks an output against its structural schema. A schema that cannot be used shows nothing.
func structure(o *homeboy.Outcome, d homeboy.OutputDeclaration, out homeboy.Value, budget *schema.Budget) {
	want, err := schema.CompilePayloadWithin(budget, value(d.StructuralSchema))
	if err != nil {
		addDiagnostic(o, CodeOutputDeclaration, fmt.Sprintf("the structural_schema of the output %q cannot be used: %v", clip(d.Name), err), outputData(d, "write a JSON Schema of the draft 2020-12"))
		return
	}
	if err := want.CheckWithin(budget, out); err != nil {
		data := outputData(d, "return what the structural_schema of the request says")
		data["faults"] = bounded(fault.Of(err))
		addDiagnostic(o, CodeOutputMalformed, fmt.Sprintf("the output %q is not what was asked for: %s", clip(d.Name), clip(err.Error())), data)
	}
}

// bounded keeps the first faults; a list of a million wrong entries has a million of them.
func bounded(all fault.Faults) fault.Faults { return all[:min(len(all), 20)] }

func outputData(d homeboy.OutputDeclaration, remedy string) map[string]any {
	return map[string]any{"phase": PhaseRun, "output": d.Name, "required": d.Required, "remedy": remedy}
}

// hasEvidence reports whether an outcome refers to evidence; an address that was left open is any.
func hasEvidence(o *homeboy.Outcome, want homeboy.EvidenceRef) bool {
	for _, e := range o.EvidenceRefs {
		if e.Kind == want.Kind && (want.URI == "" || e.URI == want.URI) {
			return true
		}
	}
	return false
}
