package driver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/base/failure"
)

// Where a Claim came from.
const (
	SourceResultFile = "result_file"  // the file that the agent was told to write
	SourceStdout     = "stdout"       // the last JSON object on stdout
	SourceStream     = "agent_stream" // made by deed: the event by which an agent's turn ends well, with its last message
	SourceExitCode   = "exit_code"    // made by deed: exit 0 without a result, where the task type takes that
)

// A Claim is the agent's word about its own work. Nothing in it is a fact.
type Claim struct {
	Source            string                     `json:"source,omitempty"`
	Status            agentruntime.TaskStatus    `json:"status"`
	MachineStatus     agentruntime.MachineStatus `json:"machine_status"`
	Summary           string                     `json:"operator_summary"`
	FileChanges       []string                   `json:"file_changes,omitempty"`
	ArtifactPaths     []string                   `json:"artifact_paths,omitempty"`
	WorkflowSignal    string                     `json:"workflow_signal,omitempty"`
	FollowUpTasks     []agentruntime.TaskIntent  `json:"follow_up_tasks,omitempty"`
	ExternalMessages  []json.RawMessage          `json:"external_messages,omitempty"`
	RetryAfterSeconds float64                    `json:"retry_after_seconds,omitempty"`

	Failure             string            `json:"failure_class,omitempty"`        // why it failed, by one of FailureWords; empty: its own fault
	Outputs             json.RawMessage   `json:"outputs,omitempty"`              // an object; what the caller asked for besides files
	StructuredArtifacts []json.RawMessage `json:"structured_artifacts,omitempty"` // objects with a name and a type

	Raw json.RawMessage `json:"-"` // what the agent wrote, tidied
}

// RetryAfter is how long the agent asks to wait.
func (c *Claim) RetryAfter() time.Duration {
	return time.Duration(c.RetryAfterSeconds * float64(time.Second))
}

// ErrNoStatus reports a result that has neither status nor machine_status.
var ErrNoStatus = errors.New("the result has no status")

// claimPairs are the words that an agent may use. Each status goes with one machine status.
var claimPairs = []struct {
	status  agentruntime.TaskStatus
	machine agentruntime.MachineStatus
}{
	{agentruntime.TaskCompleted, agentruntime.MachineOK},
	{agentruntime.TaskRetryableFailure, agentruntime.MachineNeedsRetry},
	{agentruntime.TaskPermanentFailure, agentruntime.MachineFailed},
	{agentruntime.TaskBlocked, agentruntime.MachineBlocked},
}

// FailureWords are the reasons that an agent may give for a retryable failure that is not its own, with the class that
// each stands for.
var FailureWords = map[string]failure.Class{
	"provider_error": failure.Provider,
	"rate_limited":   failure.RateLimited,
	"max_turns":      failure.Turns,
}

// maxRetryAfterSeconds is the longest wait that an agent may ask for. Policy caps it further.
const maxRetryAfterSeconds = 30 * 24 * 3600

// ParseClaim reads an agent's result. Only canonical status words count: an unknown word, a contradiction between
// status and machine_status, and a missing status are errors, because a guess would decide on words that nobody
// agreed on. Every other part that cannot be read is left out and named in dropped.
func ParseClaim(data []byte) (claim *Claim, dropped []string, err error) {
	if data, err = tidy(data); err != nil {
		return nil, nil, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, nil, fmt.Errorf("the result is not a JSON object: %w", err)
	}
	if fields == nil {
		return nil, nil, errors.New("the result is null, not a JSON object")
	}
	p := &claimParser{fields: fields, claim: &Claim{Raw: bytes.Clone(bytes.TrimSpace(data))}}
	if err := p.status(); err != nil {
		return nil, nil, err
	}
	p.summary()
	p.claim.FileChanges = p.paths("file_changes", true)
	p.claim.ArtifactPaths = p.paths("artifact_paths", false)
	p.text("workflow_signal", &p.claim.WorkflowSignal)
	p.followUps()
	p.messages()
	p.retryAfter()
	if err := p.failure(); err != nil {
		return nil, nil, err
	}
	p.outputs()
	p.unknown()
	for name, n := range map[string]int{
		"file_changes": len(p.claim.FileChanges), "artifact_paths": len(p.claim.ArtifactPaths),
		"follow_up_tasks": len(p.claim.FollowUpTasks) * maxClaimed / maxAsked, "external_messages": len(p.claim.ExternalMessages) * maxClaimed / maxAsked,
		"structured_artifacts": len(p.claim.StructuredArtifacts) * maxClaimed / maxAsked,
	} {
		if n > maxClaimed {
			return nil, nil, fmt.Errorf("the result's %s are too many (at most %d paths, %d tasks or messages)", name, maxClaimed, maxAsked)
		}
	}
	return p.claim, p.dropped, nil
}

// tidy rewrites a result as a document that every reader accepts: UTF-8, each member once, and not so deep that indentation
// blows it up. Parts of it go into documents that must be valid.
func tidy(data []byte) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("the result is not a JSON object: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("the result is not a JSON object: more follows after it")
	}
	if n := indents(v, 1); n > maxIndents {
		return nil, fmt.Errorf("the result is nested more than %d deep, or has too many parts", maxNesting)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("the result is not a JSON object: %w", err)
	}
	return b.Bytes(), nil
}

// indents counts the levels before every part of a value: what indents add to it. It stops above maxIndents.
func indents(v any, depth int) int {
	if depth > maxNesting {
		return maxIndents + 1
	}
	n := depth
	switch v := v.(type) {
	case map[string]any:
		for _, part := range v {
			if n += indents(part, depth+1); n > maxIndents {
				break
			}
		}
	case []any:
		for _, part := range v {
			if n += indents(part, depth+1); n > maxIndents {
				break
			}
		}
	}
	return n
}

// Bounds of one result: everything in it is repeated in the evidence.
const (
	maxNesting = 64
	maxIndents = 4 << 20
	maxDropped = 50
	maxClaimed = 10_000
	maxAsked   = 100
)

type claimParser struct {
	fields  map[string]json.RawMessage
	claim   *Claim
	dropped []string
}

func (p *claimParser) drop(format string, args ...any) {
	switch {
	case len(p.dropped) < maxDropped:
		p.dropped = append(p.dropped, fmt.Sprintf(format, args...))
	case len(p.dropped) == maxDropped:
		p.dropped = append(p.dropped, "and more that is not listed")
	}
}

// take returns a field and removes it; null counts as absent.
func (p *claimParser) take(name string) (json.RawMessage, bool) {
	v, ok := p.fields[name]
	delete(p.fields, name)
	return v, ok && string(v) != "null"
}

func (p *claimParser) status() error {
	status, haveStatus, err := p.word("status")
	if err != nil {
		return err
	}
	machine, haveMachine, err := p.word("machine_status")
	if err != nil {
		return err
	}
	if !haveStatus && !haveMachine {
		return fmt.Errorf("%w (give status: %s)", ErrNoStatus, statusWords())
	}
	if status == string(agentruntime.TaskOperatorCanceled) || machine == string(agentruntime.MachineCanceled) {
		return errors.New("only an operator can cancel a task (give status: " + statusWords() + ")")
	}
	si, mi := -1, -1
	for i, pair := range claimPairs {
		if haveStatus && status == string(pair.status) {
			si = i
		}
		if haveMachine && machine == string(pair.machine) {
			mi = i
		}
	}
	switch {
	case haveStatus && si < 0:
		return fmt.Errorf("status %s is unknown (known: %s)", quoteShort(status), statusWords())
	case haveMachine && mi < 0:
		return fmt.Errorf("machine_status %s is unknown (known: %s)", quoteShort(machine), machineWords())
	case haveStatus && haveMachine && si != mi:
		return fmt.Errorf("status %q and machine_status %q contradict each other (%s goes with %s)",
			status, machine, claimPairs[si].status, claimPairs[si].machine)
	}
	pair := claimPairs[max(si, mi)]
	p.claim.Status, p.claim.MachineStatus = pair.status, pair.machine
	return nil
}

func (p *claimParser) word(name string) (string, bool, error) {
	raw, ok := p.take(name)
	if !ok {
		return "", false, nil
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return "", false, fmt.Errorf("%s is %s, not a word", name, jsonType(raw))
	}
	return s, true, nil
}

func (p *claimParser) text(name string, into *string) {
	raw, ok := p.take(name)
	if !ok {
		return
	}
	if err := json.Unmarshal(raw, into); err != nil {
		p.drop("%s: %s, not text", name, jsonType(raw))
	}
}

func (p *claimParser) summary() {
	var short string
	p.text("operator_summary", &p.claim.Summary)
	p.text("summary", &short)
	switch {
	case p.claim.Summary == "":
		p.claim.Summary = short
	case short != "" && short != p.claim.Summary:
		p.drop("summary: operator_summary is there too and is taken")
	}
}

func (p *claimParser) items(name string) []json.RawMessage {
	raw, ok := p.take(name)
	if !ok {
		return nil
	}
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil {
		p.drop("%s: %s, not a list", name, jsonType(raw))
	}
	return items
}

func (p *claimParser) paths(name string, objects bool) []string {
	var out []string
	for i, raw := range p.items(name) {
		path, ok := pathOf(raw, objects)
		switch {
		case !ok:
			p.drop("%s[%d]: %s, not a path", name, i, jsonType(raw))
		case path == "":
			p.drop("%s[%d]: empty path", name, i)
		case strings.ContainsRune(path, 0):
			p.drop("%s[%d]: a path with a NUL byte", name, i)
		default:
			out = append(out, path)
		}
	}
	return out
}

func pathOf(raw json.RawMessage, objects bool) (string, bool) {
	var s string
	if json.Unmarshal(raw, &s) == nil && jsonType(raw) == "a string" {
		return s, true
	}
	var fields map[string]json.RawMessage
	if !objects || json.Unmarshal(raw, &fields) != nil {
		return "", false
	}
	for _, key := range []string{"path", "file"} {
		if v, ok := fields[key]; ok {
			return pathOf(v, false)
		}
	}
	return "", false
}

func (p *claimParser) followUps() {
	for i, raw := range p.items("follow_up_tasks") {
		var intent agentruntime.TaskIntent
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.DisallowUnknownFields()
		switch err := dec.Decode(&intent); {
		case err != nil:
			p.drop("follow_up_tasks[%d]: not a task intent: %v", i, err)
		case intent.TaskType == "" || intent.Source == "":
			p.drop("follow_up_tasks[%d]: task_type and source are needed", i)
		case jsonType(intent.Payload) != "an object":
			p.drop("follow_up_tasks[%d]: payload is %s, not an object", i, jsonType(intent.Payload))
		default:
			p.claim.FollowUpTasks = append(p.claim.FollowUpTasks, intent)
		}
	}
}

func (p *claimParser) messages() {
	for i, raw := range p.items("external_messages") {
		if jsonType(raw) != "an object" {
			p.drop("external_messages[%d]: %s, not an object", i, jsonType(raw))
			continue
		}
		p.claim.ExternalMessages = append(p.claim.ExternalMessages, bytes.Clone(raw))
	}
}

func (p *claimParser) retryAfter() {
	raw, ok := p.take("retry_after_seconds")
	if !ok {
		return
	}
	var seconds float64
	if err := json.Unmarshal(raw, &seconds); err != nil || math.IsInf(seconds, 0) {
		p.drop("retry_after_seconds: %s is not a number of seconds", quoteShort(string(raw)))
		return
	}
	if seconds < 0 || seconds > maxRetryAfterSeconds {
		p.drop("retry_after_seconds: %v is not between 0 and %d", seconds, maxRetryAfterSeconds)
		return
	}
	p.claim.RetryAfterSeconds = seconds
}

// failure reads why the agent failed, from deed's own field or from the sandbox contract's terminal result. A completion with a
// reason for a failure contradicts itself.
func (p *claimParser) failure() error {
	var word string
	p.text("failure_class", &word)
	if raw, ok := p.take("terminal_result"); ok && word == "" {
		var terminal struct {
			Status string `json:"status"`
		}
		if err := json.Unmarshal(raw, &terminal); err != nil {
			p.drop("terminal_result: %s, not an object with a status", jsonType(raw))
		}
		if _, known := FailureWords[terminal.Status]; known {
			word = terminal.Status
		}
	}
	if word == "" {
		return nil
	}
	if _, known := FailureWords[word]; !known {
		p.drop("failure_class: %s is unknown (known: %s)", quoteShort(word), strings.Join(slices.Sorted(maps.Keys(FailureWords)), ", "))
		return nil
	}
	if p.claim.Status != agentruntime.TaskRetryableFailure {
		return fmt.Errorf("status %q and failure_class %q contradict each other (a failure of that kind is a %s)", p.claim.Status, word, agentruntime.TaskRetryableFailure)
	}
	p.claim.Failure = word
	return nil
}

// outputs reads what the agent hands back besides files.
func (p *claimParser) outputs() {
	if raw, ok := p.take("outputs"); ok {
		if jsonType(raw) == "an object" {
			p.claim.Outputs = bytes.Clone(raw)
		} else {
			p.drop("outputs: %s, not an object", jsonType(raw))
		}
	}
	for i, raw := range p.items("structured_artifacts") {
		var artifact evidence.StructuredArtifact
		var wrong *json.UnmarshalTypeError
		err := json.Unmarshal(raw, &artifact)
		switch {
		case errors.As(err, &wrong) && wrong.Field != "":
			p.drop("structured_artifacts[%d].%s: of the wrong type: %s", i, wrong.Field, wrong.Value)
			continue
		case err != nil || strings.TrimSpace(artifact.Name) == "" || strings.TrimSpace(artifact.Type) == "":
			p.drop("structured_artifacts[%d]: not an object with a name and a type", i)
			continue
		}
		p.claim.StructuredArtifacts = append(p.claim.StructuredArtifacts, bytes.Clone(raw))
	}
}

func (p *claimParser) unknown() {
	names := make([]string, 0, len(p.fields))
	for name := range p.fields {
		names = append(names, name)
	}
	slices.Sort(names)
	for i, name := range names {
		if i == 20 {
			p.drop("%d more unknown fields", len(names)-i)
			return
		}
		p.drop("%s: unknown field", quoteShort(name))
	}
}

func statusWords() string {
	words := make([]string, len(claimPairs))
	for i, pair := range claimPairs {
		words[i] = string(pair.status)
	}
	return strings.Join(words, ", ")
}

func machineWords() string {
	words := make([]string, len(claimPairs))
	for i, pair := range claimPairs {
		words[i] = string(pair.machine)
	}
	return strings.Join(words, ", ")
}

// quoteShort keeps what an agent wrote from flooding a message.
func quoteShort(s string) string {
	if r := []rune(s); len(r) > 60 {
		s = string(r[:60]) + "…"
	}
	return fmt.Sprintf("%q", s)
}

func jsonType(raw json.RawMessage) string {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return "nothing"
	}
	switch raw[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}
