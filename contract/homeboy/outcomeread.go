package homeboy

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/deedrun/deed/contract/fault"
)

// unknownTask is what command-line executors write for the id of a request that had none.
const unknownTask = "unknown-task"

// ReadOutcome reads the outcome of the task taskID as tolerantly as it can; an empty taskID is not compared. What it
// returns can always be written: the status is one of the vocabulary and a failure has a class, whatever was said. A
// success that names another task, or that stands beside another status, does not count. What was said stays: in Extra, in the metadata as raw_status and
// raw_failure_classification, and in the warnings. It returns an error only for what is not one JSON object.
func ReadOutcome(data []byte, taskID string) (Outcome, []Warning, error) {
	var o Outcome
	r, err := document(data, &o)
	if err != nil {
		return Outcome{}, nil, fmt.Errorf("read outcome: %w", err)
	}
	o.name(r)
	o.normalise(r)
	o.identify(r, taskID)
	o.classify(r)
	o.advise(r)
	o.complete(r)
	return o, r.all(), nil
}

// name demands the schema. Another id is told and overwritten: the content is judged by what it holds.
func (o *Outcome) name(r *reading) {
	switch o.Schema {
	case SchemaOutcome:
		return
	case "":
		r.warn("$.schema", WarnMissing, "is missing; it is taken as "+SchemaOutcome, nil)
	default:
		r.warn("$.schema", WarnSchema, fmt.Sprintf("%q is not %s", clip(o.Schema), SchemaOutcome), quoted(o.Schema))
	}
	o.Schema = SchemaOutcome
}

// normalise makes the status one of the vocabulary.
func (o *Outcome) normalise(r *reading) {
	if r.has("$.status", WarnContradicted) || r.has("$.task_id", WarnContradicted) {
		o.refuse(r, "beside another status or task") // two readers would see two outcomes
	}
	said := o.Status
	if slices.Contains(OutcomeStatuses, said) {
		return
	}
	o.Status = ProviderError
	if said == "" {
		r.warn("$.status", WarnMissing, "is missing; it is taken as "+string(o.Status), nil)
		return
	}
	r.warn("$.status", WarnUnknown, fmt.Sprintf("%q is not a status; it is taken as %s", clip(string(said)), o.Status), quoted(string(said)))
	o.remember("raw_status", string(said))
}

// identify compares the id of the task.
func (o *Outcome) identify(r *reading, want string) {
	said := o.TaskID
	if want == "" || said == want {
		if said == "" {
			r.warn("$.task_id", WarnTaskID, "is missing", nil)
		}
		return
	}
	o.TaskID = want
	if strings.TrimSpace(said) == "" || said == unknownTask {
		r.warn("$.task_id", WarnTaskID, fmt.Sprintf("is missing; it is taken as %q", clip(want)), quoted(said))
		return
	}
	r.warn("$.task_id", WarnTaskID, fmt.Sprintf("%q is another task than %q", clip(said), clip(want)), quoted(said))
	o.refuse(r, "of another task")
}

// refuse makes a success that does not count a failure of the provider, and tells why.
func (o *Outcome) refuse(r *reading, why string) {
	if !IsSuccess(o.Status) {
		return
	}
	r.warn("$.status", WarnRefused, fmt.Sprintf("%s %s does not count; it is taken as %s", o.Status, why, ProviderError), quoted(string(o.Status)))
	o.remember("raw_status", string(o.Status))
	o.Status = ProviderError
}

// classify makes the class one of the vocabulary, and finds one for a failure that has none: in the diagnostics, whose
// classes are often the better word, else from the status.
func (o *Outcome) classify(r *reading) {
	const at = "$.failure_classification"
	said := string(o.FailureClassification)
	if IsSuccess(o.Status) {
		if said != "" {
			r.warn(at, WarnContradicted, fmt.Sprintf("%q is set and the status is %s; it is left out", clip(said), o.Status), quoted(said))
			o.remember("raw_failure_classification", said)
			o.FailureClassification = ""
		}
		return
	}
	if said == "" {
		o.FailureClassification = o.derivedClass()
		return
	}
	class, exact := classOf(said)
	if exact {
		return
	}
	o.FailureClassification = class
	r.warn(at, WarnUnknown, fmt.Sprintf("%q is not a class; it is taken as %s", clip(said), class), quoted(said))
	o.remember("raw_failure_classification", said)
}

// classOf returns the class that a word means; unknown for a word that means none.
func classOf(word string) (class FailureClass, exact bool) {
	if slices.Contains(FailureClasses, FailureClass(word)) {
		return FailureClass(word), true
	}
	if c, ok := classAliases[word]; ok {
		return c, false
	}
	return ClassUnknown, false
}

func (o *Outcome) derivedClass() FailureClass {
	if o.Status == Timeout {
		return ClassTimeout
	}
	for _, d := range o.Diagnostics {
		if c, _ := classOf(d.Class); c != ClassUnknown {
			return c
		}
	}
	switch o.Status {
	case ProviderError:
		return ClassProvider
	case Failed, UnableToRemediate:
		return ClassExecutionFailed
	}
	return "" // cancelled, an issue to file and a candidate to review are no failures of anything
}

// advise corrects a provider that calls a permanent fault retryable.
func (o *Outcome) advise(r *reading) {
	if !isTrue(o.Retryable) {
		return
	}
	why := ""
	if again, known := CategoryRetryable(o.FailureCategory); known && !again {
		why = "the category is " + o.FailureCategory
	}
	for _, d := range o.Diagnostics {
		if isSetupFault(d.Class) {
			why = "a diagnostic says " + clip(d.Class)
		}
	}
	if why == "" {
		return
	}
	no := false
	o.Retryable = &no
	r.warn("$.retryable", WarnContradicted, "is true and "+why+"; it is taken as false", Value("true"))
}

// isSetupFault reports whether a class of a diagnostic says that the provider cannot run here.
func isSetupFault(class string) bool {
	last := class[strings.LastIndexByte(class, '.')+1:]
	return last == DiagnosticProviderSetup || strings.HasSuffix(last, "command_not_found")
}

// complete gives parts that cannot be told apart a name, so that what is written is whole.
func (o *Outcome) complete(r *reading) {
	for i := range o.Artifacts {
		a := &o.Artifacts[i]
		at := "$.artifacts[" + strconv.Itoa(i) + "]"
		fill(r, at+".kind", &a.Kind, "artifact", a.Role)
		fill(r, at+".id", &a.ID, "artifact-"+strconv.Itoa(i+1), a.Name)
		a.doubt(r, at)
	}
	for i := range o.TypedArtifacts {
		at, a := "$.typed_artifacts["+strconv.Itoa(i)+"].name", &o.TypedArtifacts[i]
		fill(r, at, &a.Name, "typed-artifact-"+strconv.Itoa(i+1), a.Type)
		if !fault.IsName(a.Name) {
			a.Name = tidy(r, at, a.Name)
		}
	}
	completeDiagnostics(r, "$.diagnostics", o.Diagnostics)
	o.EvidenceRefs = slices.DeleteFunc(o.EvidenceRefs, func(e EvidenceRef) bool {
		if strings.TrimSpace(e.URI) != "" {
			return false
		}
		raw, _ := json.Marshal(e)
		r.warn("$.evidence_refs", WarnDropped, "holds an entry that points nowhere; it is left out", raw)
		return true
	})
	for i := range o.EvidenceRefs {
		e, at := &o.EvidenceRefs[i], "$.evidence_refs["+strconv.Itoa(i)+"]"
		fill(r, at+".kind", &e.Kind, "reference", "")
		if e.Schema != "" && e.Schema != SchemaEvidenceRef {
			r.warn(at+".schema", WarnSchema, fmt.Sprintf("%q is not %s", clip(e.Schema), SchemaEvidenceRef), quoted(e.Schema))
			e.Schema = ""
		}
	}
	if f := o.FollowUp; f != nil {
		fill(r, "$.follow_up.kind", &f.Kind, "issue", "")
		fill(r, "$.follow_up.title", &f.Title, "follow up", o.Summary)
	}
	if w := o.Workflow; w != nil {
		fill(r, "$.workflow.id", &w.ID, "workflow", w.Label)
		for i := range w.Steps {
			s := &w.Steps[i]
			at := "$.workflow.steps[" + strconv.Itoa(i) + "]"
			fill(r, at+".id", &s.ID, "step-"+strconv.Itoa(i+1), s.Label)
			if !slices.Contains(StepStatuses, s.Status) {
				r.warn(at+".status", WarnUnknown, fmt.Sprintf("%q is not the status of a step; it is taken as failed", clip(s.Status)), quoted(s.Status))
				s.Status = StepFailed
			}
			completeDiagnostics(r, at+".diagnostics", s.Diagnostics)
			for j := range s.Suggestions {
				fill(r, at+".suggestions["+strconv.Itoa(j)+"].kind", &s.Suggestions[j].Kind, "suggestion", "")
				fill(r, at+".suggestions["+strconv.Itoa(j)+"].title", &s.Suggestions[j].Title, "suggestion", s.Suggestions[j].Kind)
			}
		}
		o.doubtWorkflow(r)
	}
}

// doubt leaves out what an artifact cannot be.
func (a *Artifact) doubt(r *reading, at string) {
	if a.Schema != "" && a.Schema != SchemaArtifact {
		r.warn(at+".schema", WarnSchema, fmt.Sprintf("%q is not %s", clip(a.Schema), SchemaArtifact), quoted(a.Schema))
		a.Schema = ""
	}
	faults := fault.Of(a.Validate())
	for _, f := range faults {
		switch f.Path {
		case "$.sha256":
			r.warn(at+".sha256", WarnDropped, f.Message+"; it is left out", quoted(a.SHA256))
			a.SHA256 = ""
		case "$.size_bytes":
			r.warn(at+".size_bytes", WarnDropped, f.Message+"; it is left out", Value(strconv.FormatInt(*a.SizeBytes, 10)))
			a.SizeBytes = nil
		case "$.path":
			r.warn(at+".path", WarnDropped, f.Message+"; it is left out", quoted(clip(a.Path)))
			a.Path = ""
		case "$.id":
			a.ID = tidy(r, at+".id", a.ID)
		case "$.kind":
			a.Kind = tidy(r, at+".kind", a.Kind)
		}
	}
}

// doubtWorkflow sets a workflow that contradicts itself aside. It tells how, and decides nothing.
func (o *Outcome) doubtWorkflow(r *reading) {
	if o.Workflow.Schema != "" && o.Workflow.Schema != SchemaWorkflow {
		r.warn("$.workflow.schema", WarnSchema, fmt.Sprintf("%q is not %s", clip(o.Workflow.Schema), SchemaWorkflow), quoted(o.Workflow.Schema))
		o.Workflow.Schema = ""
	}
	err := o.Workflow.Validate()
	if err == nil {
		return
	}
	raw, _ := json.Marshal(o.Workflow)
	r.warn("$.workflow", WarnDropped, "contradicts itself, and is kept as raw_workflow: "+fault.Of(err)[0].String(), nil)
	if o.Extra == nil {
		o.Extra = Extra{}
	}
	o.Extra["raw_workflow"] = raw
	o.Workflow = nil
}

// tidy makes a name of a text: one line without control characters, of bounded length.
func tidy(r *reading, at, text string) string {
	name := strings.TrimSpace(strings.Map(func(c rune) rune {
		if unicode.IsControl(c) {
			return ' '
		}
		return c
	}, text))
	if len(name) > fault.MaxName {
		cut := fault.MaxName
		for !utf8.RuneStart(name[cut]) {
			cut--
		}
		name = strings.TrimSpace(name[:cut])
	}
	if name == "" {
		name = "unnamed"
	}
	r.warn(at, WarnForm, fmt.Sprintf("is not a name; it is taken as %q", clip(name)), quoted(text))
	return name
}

func completeDiagnostics(r *reading, at string, all []Diagnostic) {
	for i := range all {
		in := at + "[" + strconv.Itoa(i) + "]"
		fill(r, in+".class", &all[i].Class, string(ClassUnknown), "")
		fill(r, in+".message", &all[i].Message, "the provider gave no message", all[i].Class)
	}
}

// fill sets a blank text to what is near to it, else to a stand-in.
func fill(r *reading, at string, text *string, standIn, near string) {
	if strings.TrimSpace(*text) != "" {
		return
	}
	*text = standIn
	if strings.TrimSpace(near) != "" {
		*text = near
	}
	r.warn(at, WarnMissing, fmt.Sprintf("is missing; it is taken as %q", clip(*text)), nil)
}

// remember keeps what was said in the metadata. Metadata that is no object stays as it is; the warning has the word.
func (o *Outcome) remember(name, said string) {
	members := map[string]Value{}
	if !o.Metadata.Null() {
		var err error
		if members, err = split(o.Metadata); err != nil {
			return
		}
	}
	members[name] = quoted(said)
	if text, err := json.Marshal(members); err == nil {
		o.Metadata = text
	}
}

func quoted(s string) Value {
	text, _ := json.Marshal(s) // a string can always be written
	return text
}

// Tell appends the warnings of a reading to an outcome, one diagnostic for each, so that whoever reads the outcome
// later sees what was made of it.
func (o *Outcome) Tell(warnings []Warning) {
	for _, w := range warnings {
		data, err := json.Marshal(w)
		if err != nil {
			data = nil
		}
		o.Diagnostics = append(o.Diagnostics, Diagnostic{Class: DiagnosticRepair, Message: w.String(), Data: data})
	}
}

// mend takes the names that packages in the wild use for the class.
func (d *Diagnostic) mend(m *members) {
	m.alias("class", "classification", "kind", "code")
	m.alias("message", "error", "detail", "text")
}

// widen takes a bare text for the message.
func (d *Diagnostic) widen(raw Value) Value { return wide("message", raw) }

func (e *EvidenceRef) mend(m *members) {
	m.alias("uri", "url", "path")
	m.alias("kind", "type")
}

// widen takes a bare text for the address.
func (e *EvidenceRef) widen(raw Value) Value { return wide("uri", raw) }

func (a *Artifact) mend(m *members) {
	m.alias("size_bytes", "bytes", "size")
	m.alias("kind", "type")
	if m.text("path") == "" {
		m.alias("url", "uri")
	}
	if s := m.text("sha256"); s != strings.ToLower(strings.TrimPrefix(s, "sha256:")) {
		m.r.warn(m.at+".sha256", WarnForm, "is not written as lower-case hexadecimal", m.raw["sha256"])
		m.raw["sha256"] = quoted(strings.ToLower(strings.TrimPrefix(s, "sha256:")))
	}
}

func (f *FollowUp) mend(m *members) { m.alias("uri", "url") }

// widen takes a bare text for the title.
func (f *FollowUp) widen(raw Value) Value { return wide("title", raw) }
