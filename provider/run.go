package provider

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/deedrun/deed/contract/homeboy"
)

// A Run is one request while it is carried out: where things are, and what is to be told. Its methods may be called from
// several goroutines; what they add after the outcome was written is lost.
type Run struct {
	std      Stdio
	declared homeboy.ExecutorProvider
	request  Request
	hide     *redactor
	names    []string // of secrets

	mu          sync.Mutex
	artifacts   []homeboy.Artifact // guarded by mu, as all below
	diagnostics []homeboy.Diagnostic
	outputs     map[string]homeboy.Value
	metadata    map[string]homeboy.Value
	log         *hidingWriter
}

func newRun(x homeboy.ExecutorProvider, std Stdio) *Run {
	r := &Run{std: std, declared: x, outputs: map[string]homeboy.Value{}, metadata: map[string]homeboy.Value{}}
	r.accept(Request{}) // nothing of the manifest's secrets is shown by what is wrong with a request
	return r
}

// accept takes a request over, and learns which values may not be shown.
func (r *Run) accept(q Request) {
	r.request = q
	r.names = secretNames(r.declared, q)
	var values []string
	for _, name := range r.names {
		values = append(values, getenv(r.std.Environ, name))
	}
	r.hide = newRedactor(values)
	r.log = &hidingWriter{hide: r.hide, to: r.std.Err}
}

// secretNames are the variables that the manifest or the request call secret, whatever their conditions.
func secretNames(x homeboy.ExecutorProvider, q Request) []string {
	names := slices.Clone(q.Executor.SecretEnv)
	for _, s := range x.SecretRequirements {
		names = append(names, s.Names()...)
	}
	for _, s := range x.SecretEnvRequirements {
		names = append(names, s.Env...)
	}
	for _, d := range x.ProviderDefaults {
		names = slices.Concat(names, d.SecretEnv, d.RequiredSecretEnv, d.OptionalSecretEnv)
	}
	for _, c := range x.RunnerReadiness {
		names = append(names, c.SecretEnv...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Secret returns the value of a secret that the manifest or the request name. The error says that it is not there, and makes
// the outcome that of a provider that is not set up.
func (r *Run) Secret(name string) (string, error) {
	if !slices.Contains(r.names, name) {
		return "", Setup(fmt.Errorf("%s is not declared (name it in secret_requirements of the manifest, or in executor.secret_env of the request)", name))
	}
	if v := getenv(r.std.Environ, name); v != "" {
		return v, nil
	}
	return "", Setup(fmt.Errorf("%s is not set (the host takes it from its environment, or from an env_file)", name))
}

// Secrets returns every declared secret that is set, by name: for a program that the provider runs.
func (r *Run) Secrets() map[string]string {
	all := map[string]string{}
	for _, name := range r.names {
		if v := getenv(r.std.Environ, name); v != "" {
			all[name] = v
		}
	}
	return all
}

// Env returns a variable of the environment, as the host gave it.
func (r *Run) Env(name string) string { return getenv(r.std.Environ, name) }

// progressMark begins a line that hosts take for progress.
const progressMark = "HOMEBOY_PROGRESS "

// Progress tells the host, on one line of standard error, what is being done. A provider that is silent for longer than
// the request's liveness limit is taken for stalled.
func (r *Run) Progress(format string, args ...any) {
	line := strings.Join(strings.FieldsFunc(fmt.Sprintf(format, args...), func(c rune) bool { return c == '\n' || c == '\r' }), " ")
	fmt.Fprintf(r.Stderr(), "%s%s\n", progressMark, line)
}

// Stderr is standard error without the values of secrets: for the talk of programs that the provider runs. A line is written
// when it is whole.
func (r *Run) Stderr() io.Writer { return (*logger)(r) }

type logger Run

func (l *logger) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.log.Write(p)
}

// Diagnose adds a diagnostic to the outcome: a class for machines, a message for people, and data, which may be nil.
func (r *Run) Diagnose(class, message string, data any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.diagnostics = append(r.diagnostics, homeboy.Diagnostic{Class: class, Message: message, Data: encoded(data)})
}

// Output sets a structured result, under outputs of the outcome.
func (r *Run) Output(name string, value any) error { return r.set(r.outputs, "output", name, value) }

// Metadata sets a member of the outcome's metadata.
func (r *Run) Metadata(name string, value any) error {
	return r.set(r.metadata, "metadata", name, value)
}

func (r *Run) set(table map[string]homeboy.Value, what, name string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("%s %s: %w", what, name, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	table[name] = text
	return nil
}

// encode writes an outcome without values of secrets.
func (r *Run) encode(o Outcome) []byte {
	_ = r.log.Close() // the last line; a standard error that is closed harms no outcome
	if text, err := r.cleaned(o); err == nil {
		return text
	}
	// A name that the contract needs was a secret. What is left to say holds nothing of the provider's.
	o = Outcome{
		Schema: homeboy.SchemaOutcome, TaskID: o.TaskID, Status: homeboy.ProviderError, FailureClassification: homeboy.ClassProvider, Retryable: new(bool),
		Diagnostics: []homeboy.Diagnostic{{Class: DiagnosticOutcome, Message: "the outcome cannot be written without the value of a secret"}},
	}
	r.declare(&o)
	text, _ := json.Marshal(o) // nothing in it that cannot be written
	return text
}

// cleaned replaces secrets in everything but the words that the contract itself has, and the task's id, which the host
// knows: a secret that is spelled as a status would make the document one that nobody can read.
func (r *Run) cleaned(o Outcome) ([]byte, error) {
	o.Metadata = r.withoutKeys(o.Metadata)
	text, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	var back Outcome
	if err := json.Unmarshal(r.hide.document(text), &back); err != nil {
		return nil, err
	}
	back.Schema, back.TaskID, back.Status, back.FailureClassification = o.Schema, o.TaskID, o.Status, o.FailureClassification
	for i := range back.Artifacts {
		back.Artifacts[i].Schema, back.Artifacts[i].SHA256 = o.Artifacts[i].Schema, o.Artifacts[i].SHA256
	}
	if err := back.Validate(); err != nil {
		return nil, err
	}
	return json.Marshal(back)
}

// withoutKeys replaces the values of the members that the manifest calls secret, at any depth.
func (r *Run) withoutKeys(doc homeboy.Value) homeboy.Value {
	if doc.Null() {
		return doc
	}
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return doc
	}
	return encoded(hideKeys(v, slices.Concat(homeboy.RedactedMetadataKeys, r.declared.RedactedMetadataKeys)))
}

func hideKeys(v any, keys []string) any {
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			if slices.Contains(keys, name) {
				v[name] = Redacted
			} else {
				v[name] = hideKeys(inner, keys)
			}
		}
	case []any:
		for i := range v {
			v[i] = hideKeys(v[i], keys)
		}
	}
	return v
}
