package outcome

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"syscall"

	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/isolate/redact"
)

// maxTail is how much of a stream a diagnostic shows.
const maxTail = 16 << 10

// Read makes one outcome of how a provider's process ended and of what it printed; one row of Rows decides. The outcome
// can always be written, and names the task of the request. It holds no form of a secret that r knows. What the provider
// said stays: its parts in the outcome, a status that does not count in the metadata as provider_status, the document
// whole in Said.
func Read(p homeboy.ExecutorProvider, q homeboy.Request, f Facts, r *redact.Redactor) Answer {
	a := Answer{redactor: r}
	s := readReply(f, q.TaskID)
	o := homeboy.Outcome{Schema: homeboy.SchemaOutcome, TaskID: q.TaskID, Status: homeboy.ProviderError}
	if s.doc != nil {
		o, a.Warnings = s.understand(p, q.TaskID, o)
	}
	row := rowOf(endOf(f), s.kind)
	a.Row = row.ID
	row.settle(&o, s, p, f, r)
	if s.doc != nil {
		a.Warnings = append(a.Warnings, normalise(&o, p)...)
		verifyOutputs(&o, q)
	}
	if f.Survivors > 0 {
		addDiagnostic(&o, CodeSurvivors, fmt.Sprintf("%d processes outlived the end of the provider", f.Survivors), map[string]any{"phase": PhaseRun, "count": f.Survivors})
	}
	o.Tell(a.Warnings)
	a.Outcome = o
	for _, artifact := range o.Artifacts {
		a.paths = append(a.paths, artifact.Path)
	}
	a.Said = json.RawMessage(s.said())
	a.conceal(p)
	return a
}

// understand reads the document, and says of it what the table asks for.
func (s *reply) understand(p homeboy.ExecutorProvider, taskID string, none homeboy.Outcome) (homeboy.Outcome, []homeboy.Warning) {
	doc, mapped, private := canonical(p, s.doc)
	s.taken, _ = object(plain(doc))
	o, warnings, err := homeboy.ReadOutcome(doc, taskID)
	if err != nil {
		*s = reply{kind: ReplyGarbage, reason: err.Error()}
		return none, nil
	}
	warnings = append(private, warnings...)
	if s.noise {
		warnings = append(warnings, homeboy.Warning{Path: "$", Code: homeboy.WarnForm, Message: "stood among other text, which is not looked at"})
	}
	warned := func(path, code string) bool {
		return slices.ContainsFunc(warnings, func(w homeboy.Warning) bool { return w.Path == path && w.Code == code })
	}
	said := s.status()
	switch {
	case warned("$.status", homeboy.WarnMissing):
		s.kind = ReplyNoStatus
	case warned("$.status", homeboy.WarnRefused):
		s.kind = ReplyOtherTask
	case len(p.OutcomeStatuses) > 0 && !slices.Contains(p.OutcomeStatuses, said):
		s.kind = ReplyUndeclaredStatus
		warnings = append(warnings, homeboy.Warning{Path: "$.status", Code: homeboy.WarnUnknown, Message: fmt.Sprintf("%q is not among the outcome_statuses of %s", clip(said), p.ID), Raw: value(said)})
	case warned("$.schema", homeboy.WarnSchema) && !mapped && homeboy.IsSuccess(o.Status):
		s.kind = ReplyOtherSchema
	case s.noise:
		s.kind = ReplyRecovered
	case homeboy.IsSuccess(o.Status):
		s.kind = ReplySuccess
	default:
		s.kind = ReplyFailure
	}
	return o, append(warnings, undeclaredClass(p, s.taken)...)
}

// undeclaredClass warns of a class that the manifest does not declare. It is kept: a class is a hint, not a claim.
func undeclaredClass(p homeboy.ExecutorProvider, said map[string]homeboy.Value) []homeboy.Warning {
	class, _ := said["failure_classification"].Text()
	if class == "" || len(p.FailureClassifications) == 0 || slices.Contains(p.FailureClassifications, class) {
		return nil
	}
	return []homeboy.Warning{{
		Path: "$.failure_classification", Code: homeboy.WarnUnknown, Raw: value(class),
		Message: fmt.Sprintf("%q is not among the failure_classifications of %s; it is kept", clip(class), p.ID),
	}}
}

// status returns the status as it was written.
func (s reply) status() string {
	said, _ := s.taken["status"].Text()
	return said
}

// said returns the reply as JSON.
func (s reply) said() homeboy.Value {
	switch {
	case s.doc != nil:
		return plain(s.doc)
	case s.docs != nil:
		list := make([]homeboy.Value, len(s.docs))
		for i, d := range s.docs {
			list[i] = d
		}
		return value(list)
	}
	return nil
}

// endOf returns the end in the terms of the table. Nothing can be concluded from an unknown end.
func endOf(f Facts) End {
	switch {
	case f.End == Exited && f.Code != 0:
		return exitedBadly
	case f.End == SpawnFailed && isUnavailable(f.Err):
		return commandUnavailable
	case !slices.Contains(Ends, f.End):
		return IOFailed
	}
	return f.End
}

// isUnavailable reports whether a command could not be started because of what it is.
func isUnavailable(err error) bool {
	for _, why := range []error{fs.ErrNotExist, fs.ErrPermission, syscall.ENOEXEC, syscall.EISDIR, syscall.ENOTDIR, syscall.ELOOP} {
		if errors.Is(err, why) {
			return true
		}
	}
	return false
}

// settle makes an outcome what the row says.
func (row Row) settle(o *homeboy.Outcome, s reply, p homeboy.ExecutorProvider, f Facts, r *redact.Redactor) {
	kept := row.Keeps && s.doc != nil && !homeboy.IsSuccess(o.Status) && s.kind != ReplyUndeclaredStatus
	if row.Status != "" && !kept {
		row.replace(o, s)
	}
	if row.Code == "" {
		return
	}
	message := row.message(p, s, f)
	if o.Summary == "" {
		o.Summary = message
	}
	data := row.data(s, f)
	if row.Status != "" {
		refer(o, row.Code)
		data["stderr_tail"] = tail(f.StderrTail, r)
		switch {
		case s.doc != nil || s.docs != nil: // the document is kept, and was taken apart before it was redacted
		case f.StdoutTail != "":
			data["stdout_tail"] = tail(f.StdoutTail, r)
		case f.Stdout != nil:
			data["stdout_tail"] = lastOf(f, r)
		}
	}
	said := o.Diagnostics
	o.Diagnostics = nil
	addDiagnostic(o, row.Code, message, data) // first: what people look for
	o.Diagnostics = append(o.Diagnostics, said...)
}

// replace sets the status and the class of the row, and keeps the provider's in the metadata.
func (row Row) replace(o *homeboy.Outcome, s reply) {
	if s.doc != nil {
		if said := s.status(); said != "" && said != string(row.Status) {
			o.Metadata = with(o.Metadata, "provider_status", said)
		}
		if c := o.FailureClassification; c != "" && c != row.Class {
			o.Metadata = with(o.Metadata, "provider_failure_classification", c)
		}
		if o.Summary != "" {
			o.Metadata = with(o.Metadata, "provider_summary", o.Summary)
		}
	}
	o.Status, o.FailureClassification, o.Summary, o.Retryable = row.Status, row.Class, "", nil
	if row.ID == "command_unavailable" {
		no := false
		o.Retryable = &no
	}
}

// message says on one line what happened.
func (row Row) message(p homeboy.ExecutorProvider, s reply, f Facts) string {
	var more []string
	switch f.End {
	case Exited:
		if f.Code != 0 {
			more = append(more, fmt.Sprintf("exit code %d", f.Code))
		}
	case Signalled:
		more = append(more, f.Signal)
		if f.Signal == "SIGKILL" {
			more = append(more, "probably out of memory")
		}
	case WallTimeout, Stalled:
		if f.Limit > 0 {
			more = append(more, "limit "+f.Limit.String())
		}
	}
	if s.reason != "" {
		more = append(more, s.reason)
	}
	if f.Err != nil {
		more = append(more, f.Err.Error())
	}
	text := "provider " + p.ID + ": " + row.Text
	if len(more) > 0 {
		text += ": " + strings.Join(more, ", ")
	}
	return text
}

// data is what the diagnostic says to programs.
func (row Row) data(s reply, f Facts) map[string]any {
	d := map[string]any{"phase": row.Phase, "row": row.ID, "end": f.End}
	set := func(name string, there bool, v any) {
		if there {
			d[name] = v
		}
	}
	set("exit_code", f.End == Exited, f.Code)
	set("signal", f.Signal != "", f.Signal)
	set("hint", f.End == Signalled && f.Signal == "SIGKILL", "a SIGKILL that deed did not send is most often the system running out of memory")
	set("elapsed_ms", f.Elapsed > 0, f.Elapsed.Milliseconds())
	set("limit_ms", f.Limit > 0, f.Limit.Milliseconds())
	set("stdout_bytes", true, f.StdoutSize+f.Dropped)
	set("dropped_bytes", f.Dropped > 0, f.Dropped)
	set("command", f.Command != "", f.Command)
	set("reason", s.reason != "", s.reason)
	if f.Err != nil {
		d["error"] = f.Err.Error()
	}
	return d
}

// tail returns the end of a text without secrets. It is cut after they are removed, or half of one could be left.
func tail(text string, r *redact.Redactor) string {
	text = strings.ToValidUTF8(r.String(text), "\uFFFD")
	if len(text) > maxTail {
		text = strings.ToValidUTF8(text[len(text)-maxTail:], "")
	}
	return text
}

// lastOf returns the end of what was kept of standard output.
func lastOf(f Facts, r *redact.Redactor) string {
	last := &ending{}
	w := r.Writer(last)
	if _, err := io.Copy(w, io.NewSectionReader(f.Stdout, 0, f.StdoutSize)); err != nil {
		return "" // it cannot be read; the row says what there is to say
	}
	_ = w.Close()
	return tail(string(last.kept), nil)
}

// ending keeps the last bytes that were written to it.
type ending struct{ kept []byte }

func (e *ending) Write(b []byte) (int, error) {
	e.kept = append(e.kept, b...)
	if len(e.kept) > 4*maxTail {
		e.kept = append(e.kept[:0], e.kept[len(e.kept)-maxTail:]...)
	}
	return len(b), nil
}
