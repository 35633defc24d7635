package packaged

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/runtimepkg"
)

// standIn is what a request says where the brief is not written yet.
const standIn = "(the brief)"

// ask is what the job wants of a provider: its payload where that is a request, else a request made from the brief. The
// adapter's settings fill in what the request leaves open.
func ask(j driver.Job) (homeboy.Request, error) {
	q, err := asked(j)
	if err != nil {
		return q, err
	}
	m, e := j.Adapter.Packaged, &q.Executor
	if e.Backend == "" {
		e.Backend = m.Backend
	}
	if e.Backend != m.Backend {
		return q, invalid(CodeRequestInvalid, fmt.Errorf("executor.backend is %q, and the adapter %q is for %q", e.Backend, m.AdapterID, m.Backend), "use an adapter for that backend")
	}
	fill(&e.Selector, m.Selector)
	if m.Runtime != "" {
		if e.RuntimeSelection == nil {
			e.RuntimeSelection = &homeboy.RuntimeSelection{}
		}
		fill(&e.RuntimeSelection.RuntimeID, m.Runtime)
	}
	if j.Model != "" {
		e.Model = j.Model
	}
	fill(&e.Model, m.Model)
	e.RequiredCapabilities = union(e.RequiredCapabilities, m.RequiredCapabilities)
	e.SecretEnv = union(e.SecretEnv, m.SecretEnv)
	if err := fillConfig(e, m.Config); err != nil {
		return q, invalid(CodeRequestInvalid, err, "make the adapter's config an object")
	}
	withOutputs := q
	if err := outputs(&withOutputs); err != nil {
		return q, err
	}
	if err := q.Validate(); err != nil {
		return q, invalid(CodeRequestInvalid, err, "correct the request")
	}
	return q, nil
}

func asked(j driver.Job) (homeboy.Request, error) {
	var head struct {
		Schema string `json:"schema"`
	}
	if json.Unmarshal(j.Payload, &head) == nil && head.Schema == homeboy.SchemaRequest {
		q, _, err := homeboy.ReadRequest(j.Payload)
		if err != nil {
			return q, invalid(CodeRequestInvalid, err, "")
		}
		return q, nil
	}
	q := homeboy.Request{Schema: homeboy.SchemaRequest, TaskID: j.TaskID, Instructions: j.Brief, Executor: homeboy.Executor{Config: map[string]homeboy.Value{}}}
	fill(&q.Instructions, standIn)
	if fault.IsObject(j.Payload) {
		q.Inputs = homeboy.Value(j.Payload)
	}
	return q, nil
}

// built reports whether deed itself wrote the request: then the brief is what it says.
func built(j driver.Job) bool {
	var head struct {
		Schema string `json:"schema"`
	}
	return json.Unmarshal(j.Payload, &head) != nil || head.Schema != homeboy.SchemaRequest
}

func fill(to *string, value string) {
	if strings.TrimSpace(*to) == "" {
		*to = value
	}
}

func union(a, b []string) []string {
	for _, s := range b {
		if !slices.Contains(a, s) {
			a = append(a[:len(a):len(a)], s)
		}
	}
	return a
}

// fillConfig lays the request's config over the adapter's.
func fillConfig(e *homeboy.Executor, base json.RawMessage) error {
	config := map[string]homeboy.Value{}
	if len(base) > 0 {
		if err := json.Unmarshal(base, &config); err != nil {
			return err
		}
	}
	for name, v := range e.Config {
		config[name] = v
	}
	e.Config = config
	return nil
}

// document writes a request in the form that manifests refer to.
func document(q homeboy.Request) (runtimepkg.Document, error) {
	text, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	return runtimepkg.ReadDocument(text)
}

// typed reads a document back.
func typed(doc runtimepkg.Document) (homeboy.Request, error) {
	text, err := json.Marshal(doc)
	if err != nil {
		return homeboy.Request{}, err
	}
	q, _, err := homeboy.ReadRequest(text)
	return q, err
}

// request is what the provider reads in a turn. Paths are as it sees them.
func (t *turn) request(in driver.Input) ([]byte, error) {
	q, j := t.plan.request, t.job
	if built(j) {
		q.Instructions = j.Brief
		fill(&q.Instructions, standIn)
	}
	var err error
	if in.Text != "" {
		q.Instructions += "\n\n" + in.Text
		if q.Inputs, err = with(q.Inputs, "gate_feedback", in.Text); err != nil {
			return nil, invalid(CodeRequestInvalid, fmt.Errorf("inputs: %w", err), "make inputs an object")
		}
	}
	t.limits(&q)
	t.workspace(&q)
	t.artifacts(&q)
	t.tools(&q)
	if err := outputs(&q); err != nil {
		return nil, err
	}
	if err := t.executor(&q); err != nil {
		return nil, err
	}
	if err := t.metadata(&q); err != nil {
		return nil, err
	}
	t.sent = q
	doc, err := document(q)
	if err != nil {
		return nil, invalid(CodeRequestInvalid, err, "")
	}
	if err := runtimepkg.CheckRequest(t.plan.selection.Provider, doc); err != nil {
		return nil, invalid(CodeRequestInvalid, err, "")
	}
	text, err := canonical(doc)
	if err != nil {
		return nil, invalid(CodeEncode, err, "")
	}
	return text, nil
}

// canonical writes a document with its members in order. Numbers stay as they were written: a canonical form that rounds them
// would change what was asked for.
func canonical(doc any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(doc); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// limits writes into the provider's request how long it has.
func (t *turn) limits(q *homeboy.Request) {
	l := homeboy.Limits{}
	if q.Limits != nil {
		l = *q.Limits
	}
	l.TimeoutMS = max(t.timeLimit.Milliseconds(), 1)
	q.Limits = &l
}

// workspace names the attempt's own copy: a request never leads to the caller's checkout.
func (t *turn) workspace(q *homeboy.Request) {
	w := homeboy.Workspace{Mode: homeboy.WorkspaceMaterialized}
	if q.Workspace != nil {
		w = *q.Workspace
	}
	w.Root = t.job.Inside(t.job.Dirs.Workspace)
	w.Attempt = &homeboy.WorkspaceAttempt{Identity: t.job.AttemptID, BaseRef: t.job.Base.Commit, BaseFingerprint: t.job.Base.Digest}
	q.Workspace = &w
}

func (t *turn) artifacts(q *homeboy.Request) {
	q.ArtifactsPath = t.job.Inside(t.job.Dirs.Artifacts)
	q.ArtifactsPathProvenance = &homeboy.ArtifactsProvenance{Owner: "homeboy", Locality: "runner", PlanID: q.ParentPlanID, RunID: t.job.AttemptID, TaskID: q.TaskID, Attempt: int64(max(t.number, 1))}
	q.ArtifactDeclarations = q.Declarations()
}

// outputs writes into the provider's request which outputs are wanted, unless the caller did so already.
func outputs(q *homeboy.Request) error {
	if len(q.OutputDeclarations) == 0 {
		return nil
	}
	bad := func(err error) error {
		return invalid(CodeOutputInvalid, fmt.Errorf("output_declarations cannot be told to the provider: %w", err), "make inputs an object, and inputs.required_outputs a list")
	}
	inputs, err := object(q.Inputs)
	if err != nil {
		return bad(fmt.Errorf("inputs: %w", err))
	}
	var wanted []map[string]any
	if raw := inputs["required_outputs"]; len(raw) > 0 {
		if err := json.Unmarshal(raw, &wanted); err != nil {
			return bad(fmt.Errorf("inputs.required_outputs: %w", err))
		}
	}
	for _, d := range q.OutputDeclarations {
		if slices.ContainsFunc(wanted, func(w map[string]any) bool { return w["name"] == d.Name }) {
			continue
		}
		w := map[string]any{"name": d.Name, "required": d.Required, "schema": d.Schema}
		if d.StructuralSchema != nil {
			w["json_schema"] = d.StructuralSchema
		}
		if d.MaxBytes > 0 {
			w["max_bytes"] = d.MaxBytes
		}
		wanted = append(wanted, w)
	}
	q.Inputs, err = with(q.Inputs, "required_outputs", wanted)
	if err != nil {
		return bad(err)
	}
	return nil
}

// executor says who was selected, and gives the provider's own agent its directories.
func (t *turn) executor(q *homeboy.Request) error {
	e, s := &q.Executor, t.plan.selection
	sel := homeboy.RuntimeSelection{}
	if e.RuntimeSelection != nil {
		sel = *e.RuntimeSelection
	}
	sel.RuntimeID, sel.ExecutorBackend, sel.ExecutorProviderID = s.Package.ID, e.Backend, s.Provider.ID
	fill(&sel.Model, e.Model)
	e.RuntimeSelection = &sel
	root := t.job.Inside(t.job.Dirs.Workspace)
	config := map[string]homeboy.Value{}
	for name, v := range e.Config {
		config[name] = v
	}
	e.Config = config
	for _, m := range []struct{ name, in, value string }{
		{"runtime_env", "TMPDIR", t.job.Inside(t.job.Dirs.Tmp)}, {"workspace", "root", root},
	} {
		v, err := with(config[m.name], m.in, m.value)
		if err != nil {
			return invalid(CodeRequestInvalid, fmt.Errorf("executor.config.%s: %w", m.name, err), "make it an object, or leave it out")
		}
		config[m.name] = v
	}
	config["workspace_root"] = value(root)
	if _, there := config["cwd"]; there {
		config["cwd"] = value(t.job.Inside(t.plan.place.dir)) // the caller's is not for the provider
	}
	if slices.Contains(s.Provider.Capabilities, "workspace_permission_root/v1") {
		config["workspace_permission_root"] = value(root)
	}
	return nil
}

// metadata adds what the host attests.
func (t *turn) metadata(q *homeboy.Request) error {
	for name, v := range map[string]any{
		"cook_attempt_workspace_identity": map[string]any{"attempt_id": t.job.AttemptID, "base_ref": t.job.Base.Commit, "base_fingerprint": t.job.Base.Digest},
		"publication":                     map[string]any{"capability": "unavailable", "owner": "controller", "status": "not_attempted"},
	} {
		m, err := with(q.Metadata, name, v)
		if err != nil {
			return invalid(CodeRequestInvalid, fmt.Errorf("metadata: %w", err), "make metadata an object")
		}
		q.Metadata = m
	}
	return nil
}

var errNoObject = errors.New("it is not an object")

// object reads an object; what is absent is an empty one.
func object(v homeboy.Value) (map[string]json.RawMessage, error) {
	out := map[string]json.RawMessage{}
	if v.Null() {
		return out, nil
	}
	if err := json.Unmarshal(v, &out); err != nil || out == nil {
		return nil, errNoObject
	}
	return out, nil
}

// with returns an object with one more member.
func with(v homeboy.Value, name string, member any) (homeboy.Value, error) {
	m, err := object(v)
	if err != nil {
		return nil, err
	}
	m[name] = json.RawMessage(value(member))
	return value(m), nil
}

// value writes what deed made itself, which can always be written.
func value(v any) homeboy.Value {
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("packaged: marshal %T: %v", v, err))
	}
	return text
}

// hostPaths maps what the provider calls its places to where they are on this machine.
func hostPaths(j driver.Job) func(string) (string, bool) {
	return func(inside string) (string, bool) {
		source, rest, _, ok := j.Sandbox.Outside(inside)
		return filepath.Join(source, rest), ok
	}
}
