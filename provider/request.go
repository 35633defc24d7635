package provider

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/contract/homeboy"
)

// A Request is what the host asks for. The record has every member of the contract; Instructions is what to do.
type Request struct {
	homeboy.Request
	Raw []byte // as the host wrote it, with members that the record does not know
}

// Config reads executor.config, the provider's own options, into a struct. Options that the struct does not have are
// ignored. The error makes the outcome that of a request that is not valid.
func (q Request) Config(into any) error {
	text, err := json.Marshal(q.Executor.Config)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		return Invalid(fmt.Errorf("$.executor.config: %w", err))
	}
	return nil
}

// option returns an option of executor.config that is a text.
func (q Request) option(name string) string {
	s, _ := q.Executor.Config[name].Text()
	return s
}

// Model is the model that was asked for; empty: the provider's own default.
func (q Request) Model() string {
	if q.Executor.Model != "" {
		return q.Executor.Model
	}
	if s := q.Executor.RuntimeSelection; s != nil && s.Model != "" {
		return s.Model
	}
	return q.option("model")
}

// take reads and checks a request. Every fault is told at once. The record is kept as far as it could be read: an outcome
// names its task even when the request was refused.
func (r *Run) take(data []byte) error {
	q, _, err := homeboy.ReadRequest(data)
	if err != nil {
		return Invalid(err)
	}
	r.accept(Request{Request: q, Raw: data})
	var doc map[string]any
	if err := json.Unmarshal(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), &doc); err != nil {
		return Invalid(err)
	}
	var l fault.List
	if s, there := doc["schema"]; !there {
		l.Add("$.schema", fault.MissingField, "is missing", fmt.Sprintf("write %q", homeboy.SchemaRequest))
	} else if s != homeboy.SchemaRequest {
		l.Add("$.schema", fault.WrongSchema, fmt.Sprintf("%.100q is not the schema of a request", fmt.Sprint(s)), fmt.Sprintf("write %q", homeboy.SchemaRequest))
	}
	l.Name("$.task_id", q.TaskID)
	switch q.Executor.Backend {
	case r.declared.Backend:
	case "":
		l.Add("$.executor.backend", fault.MissingField, "is missing", fmt.Sprintf("write %q", r.declared.Backend))
	default:
		l.Add("$.executor.backend", fault.NotAllowed, fmt.Sprintf("%.100q is not the backend of this provider", q.Executor.Backend), fmt.Sprintf("write %q, or choose another provider", r.declared.Backend))
	}
	for _, f := range fault.Of(r.declared.CheckRequest(doc)) {
		if f.Path != "$.schema" && f.Path != "$.task_id" && f.Path != "$.executor.backend" {
			l.Add(f.Path, f.Code, f.Message, f.Remedy)
		}
	}
	if err := l.Err(); err != nil {
		return Invalid(err)
	}
	return nil
}

// Dir is where the work is done: executor.config.cwd, else workspace.root, else where the host started the command. One
// that is not a directory here does not count: a contained command can be told of paths that it does not see.
func (r *Run) Dir() string {
	candidates := []string{r.request.option("cwd")}
	if w := r.request.Workspace; w != nil {
		candidates = append(candidates, w.Root)
	}
	for _, dir := range candidates {
		if dir == "" {
			continue
		}
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(r.std.Dir, dir)
		}
		if fi, err := os.Stat(dir); err == nil && fi.IsDir() {
			return dir
		}
	}
	return r.std.Dir
}
