package outcome

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/contract/homeboy"
)

// A normalization is the member runtime_contract.normalization of a provider: where its own result has the values
// that the contract wants.
type normalization struct {
	StatusPath      string          `json:"status_path"`
	SummaryPath     string          `json:"summary_path"`
	OutputArtifacts []homeboy.Value `json:"output_artifacts"`
}

func normalizationOf(p homeboy.ExecutorProvider) normalization {
	var n normalization
	if members, ok := object(p.RuntimeContract); ok && len(members["normalization"]) > 0 {
		_ = json.Unmarshal(members["normalization"], &n) // lint reports what is malformed there
	}
	return n
}

// privateStatus are words for a status in results of providers' own, which count only where a manifest points at them.
var privateStatus = map[string]homeboy.OutcomeStatus{
	"completed": homeboy.Succeeded, "success": homeboy.Succeeded, "passed": homeboy.Succeeded,
	"error": homeboy.Failed, "failure": homeboy.Failed, "timed_out": homeboy.Timeout, "canceled": homeboy.Cancelled,
}

// canonical fills in a status and a summary that a document lacks from where the manifest says that they are. mapped
// says that the status was filled in: then the document is a result in the provider's own form.
func canonical(p homeboy.ExecutorProvider, doc []byte) (out []byte, mapped bool, warnings []homeboy.Warning) {
	n := normalizationOf(p)
	if n.StatusPath == "" && n.SummaryPath == "" {
		return doc, false, nil
	}
	bare := plain(doc)
	members, ok := object(bare)
	if !ok {
		return doc, false, nil
	}
	fill := func(name, path string) bool {
		if path == "" || !members[name].Null() {
			return false
		}
		found, _ := at(bare, path)
		text, ok := found.Text()
		if !ok {
			return false
		}
		if word, known := privateStatus[text]; known && name == "status" {
			text = string(word)
		}
		members[name] = value(text)
		warnings = append(warnings, homeboy.Warning{Path: "$." + name, Code: homeboy.WarnAlias, Message: "is taken from " + path + ", as the manifest says", Raw: found})
		return true
	}
	mapped = fill("status", n.StatusPath)
	if filled := fill("summary", n.SummaryPath); !mapped && !filled {
		return doc, false, nil
	}
	return value(members), mapped, warnings
}

// An envelope is the member result_contract.typed_artifact_envelope of a provider: the output that holds typed artifacts.
type envelope struct {
	Schema string `json:"schema"`
	Output string `json:"output"`
}

// runResult is the role of the output, or the metadata, that holds a provider's own account of a run.
const runResult = "provider_run_result"

// unwrap takes typed artifacts out of where the manifest says that they are.
func unwrap(o *homeboy.Outcome, p homeboy.ExecutorProvider, c *copies) []homeboy.Warning {
	var warnings []homeboy.Warning
	warn := func(path, message string) {
		warnings = append(warnings, homeboy.Warning{Path: path, Code: homeboy.WarnDropped, Message: message})
	}
	contract, _ := object(p.ResultContract)
	if raw := contract["typed_artifact_envelope"]; !raw.Null() {
		e := envelope{Output: runResult}
		if json.Unmarshal(raw, &e) == nil {
			e.open(o, warn)
		}
	}
	wanted := normalizationOf(p).OutputArtifacts
	if len(wanted) == 0 {
		return warnings
	}
	whole := encode(*o)
	for _, raw := range wanted {
		name, path, t := outputArtifact(raw)
		if payload, ok := at(whole, path); ok && name != "" && !payload.Null() && c.take(payload) {
			t.Name, t.Payload = name, payload
			addTyped(o, t)
		}
	}
	return warnings
}

func (e envelope) open(o *homeboy.Outcome, warn func(path, message string)) {
	members, ok := object(o.Outputs[e.Output])
	if !ok {
		return
	}
	if said, _ := members["schema"].Text(); e.Schema != "" && said != e.Schema {
		warn("$.outputs."+e.Output, fmt.Sprintf("%q is not %s; nothing is taken out of it", clip(said), e.Schema))
		return
	}
	var typed []homeboy.Value
	if json.Unmarshal(members["typed_artifacts"], &typed) != nil {
		return
	}
	for i, raw := range typed {
		if i == MaxListed {
			warn("$.outputs."+e.Output, fmt.Sprintf("holds %d typed artifacts; those after the first %d stay where they are", len(typed), MaxListed))
			break
		}
		var t homeboy.TypedArtifact
		if json.Unmarshal(raw, &t) != nil || !fault.IsName(t.Name) {
			warn("$.outputs."+e.Output, "holds a typed artifact that cannot be understood; it stays where it is")
			continue
		}
		addTyped(o, t)
	}
}

// outputArtifact reads one entry of output_artifacts: the name of an output, or an object.
func outputArtifact(raw homeboy.Value) (name, path string, t homeboy.TypedArtifact) {
	if name, ok := raw.Text(); ok {
		return name, "outputs." + name, t
	}
	members, _ := object(raw)
	text := func(names ...string) string {
		for _, n := range names {
			if s, _ := members[n].Text(); s != "" {
				return s
			}
		}
		return ""
	}
	name = text("name", "id", "output")
	path = text("path")
	if path == "" {
		path = "outputs." + name
	}
	t.Type, t.ArtifactSchema = text("type", "kind"), text("artifact_schema", "schema")
	if !fault.IsName(name) {
		name = ""
	}
	return name, path, t
}

func addTyped(o *homeboy.Outcome, t homeboy.TypedArtifact) {
	if !slices.ContainsFunc(o.TypedArtifacts, func(have homeboy.TypedArtifact) bool { return have.Name == t.Name }) {
		o.TypedArtifacts = append(o.TypedArtifacts, t)
	}
}
