package attempt

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/attempt/ending"
	"github.com/deedrun/deed/internal/base/crashpoint"
	"github.com/deedrun/deed/internal/evidence/bundle"
	"github.com/deedrun/deed/internal/evidence/history"
	"github.com/deedrun/deed/internal/evidence/journal"
	"github.com/deedrun/deed/internal/evidence/workspace"
	"github.com/deedrun/deed/internal/store"
)

// pathSettlement is the bundle's copy of what will be settled. A crash between the two loses nothing: the next
// sweep finds the bundle, checks its signature and settles with this.
const (
	pathSettlement = "files/settlement.json"
	kindSettlement = "settlement"
	kindBrief      = "attempt-brief"
	kindArtifact   = "artifact"
	recordDir      = "files/attempt" // what drivers wrote in addition to the output
	kindRecord     = "attempt-record"
)

// publish adds what is known at the end, signs the bundle and gives it its name.
func (a *run) publish(ctx context.Context, s *store.Settlement, e end) (bundle.Sealed, error) {
	if a.evidence == nil {
		if err := a.collect(); err != nil {
			return bundle.Sealed{}, err
		}
	}
	w := a.evidence
	if err := a.conclude(w, s, e); err != nil {
		return bundle.Sealed{}, errors.Join(err, w.Abort())
	}
	crashpoint.Hit(crashpoint.SettlementWritten)
	return w.Seal(ctx, a.sealInput(s, e))
}

// collect begins the bundle with what the agent left: the change, its output, its artifacts. It runs before any code
// that the agent wrote runs again as a check. The writer remembers what it hashed, so a file that is changed
// afterwards makes a bundle that does not verify, never one that lies.
func (a *run) collect() error {
	workspace.SetTopdirFlag(a.Home.Bundles())
	w, err := bundle.Create(a.Home.Bundle(a.claim.Ref.AttemptID), bundle.Options{Redactor: a.redactor, Key: a.Key})
	if err != nil {
		return err
	}
	err = w.AddJSON(evidence.PathChangedFiles, evidence.KindChangedFiles, a.changedFiles())
	for _, add := range []func(*bundle.Writer) error{a.addPatch, a.addAttemptFiles, a.addKept, a.addArtifacts} {
		if err == nil {
			err = add(w)
		}
	}
	if err != nil {
		return errors.Join(err, w.Abort())
	}
	a.evidence = w
	return nil
}

// discardEvidence drops what was collected and decided about a refused completion attempt: the agent goes on, and
// neither holds for what it does next. The journal keeps the verdict.
func (a *run) discardEvidence() error {
	a.verdict, a.checks, a.limits = nil, nil, nil
	if a.evidence == nil {
		return nil
	}
	err := a.evidence.Abort()
	a.evidence = nil
	for i := range a.commands { // the logs are gone with it; the journal has how the checks ended
		a.commands[i].Stdout = ""
	}
	return err
}

// schemaSettlement is the id of a settlementDoc. Documents of earlier versions of deed have no id, and are otherwise
// the same.
const schemaSettlement = "deed/settlement/v1"

// A settlementDoc is the settlement as it is in the bundle.
type settlementDoc struct {
	Schema string `json:"schema"`
	*store.Settlement
}

// conclude adds deed's own records: what happened, the verdict and what will be settled.
func (a *run) conclude(w *bundle.Writer, s *store.Settlement, e end) error {
	a.note(history.KindSettling, map[string]any{"status": s.Status, "class": s.Class})
	entries := a.entries()
	r := a.report(w, e)
	var err error
	if r.BundleID, _, err = w.ContentID(); err != nil {
		return err
	}
	a.account = r
	type doc struct {
		path, kind string
		value      any
	}
	docs := []doc{
		{evidence.PathTestResults, evidence.KindTestResults, ending.TestResults(a.verdict)},
		{evidence.PathAgentResult, evidence.KindAgentResult, r.AgentResult()},
		{evidence.PathCompletionOutcome, evidence.KindCompletionOutcome, a.completionOutcome(r)},
		{evidence.PathAgentTaskResult, evidence.KindAgentTaskResult, r.TaskResult()},
		{evidence.PathTranscript, evidence.KindAgentTranscript, a.transcript()},
		{pathSettlement, kindSettlement, settlementDoc{Schema: schemaSettlement, Settlement: s}},
	}
	if a.verdict != nil {
		docs = append(docs, doc{bundle.PathVerdict, bundle.KindVerdict, a.verdict})
	}
	for _, d := range docs {
		if err := w.AddJSON(d.path, d.kind, d.value); err != nil {
			return err
		}
	}
	if err := a.addToolCalls(w); err != nil {
		return err
	}
	for _, f := range []struct {
		path, kind, contentType string
		data                    []byte
	}{
		{evidence.PathEvents, evidence.KindEvents, evidence.TypeNDJSON, lines(entries)},
		{evidence.PathCommands, evidence.KindCommands, evidence.TypeNDJSON, lines(a.commandList())},
		{evidence.PathObservations, evidence.KindObservations, evidence.TypeNDJSON, lines(a.observations())},
		{evidence.PathRuntimeLog, evidence.KindLog, evidence.TypeText, runtimeLog(entries)},
		{evidence.PathCommandsLog, evidence.KindLog, evidence.TypeText, commandLog(a.commandList())},
	} {
		if err := w.AddBytes(f.path, f.kind, f.contentType, f.data); err != nil {
			return err
		}
	}
	return nil
}

// entries returns the content of events.jsonl: what this process noted itself, or, for an attempt that another
// process began, what its journal has.
func (a *run) entries() []journal.Entry {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.events)
}

// lines encodes one JSON document per line.
func lines[T any](list []T) []byte {
	var b bytes.Buffer
	for _, v := range list {
		b.Write(mustJSON(v))
		b.WriteByte('\n')
	}
	return b.Bytes()
}

func runtimeLog(entries []journal.Entry) []byte {
	var b bytes.Buffer
	for _, e := range entries {
		fmt.Fprintf(&b, "%s %s", e.At, e.Kind)
		if len(e.Detail) > 0 {
			b.WriteByte(' ')
			b.Write(e.Detail)
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}

func commandLog(list []command) []byte {
	var b bytes.Buffer
	for _, c := range list {
		fmt.Fprintf(&b, "[%s] %s\n  exit %d in %s\n", c.Role, strings.Join(c.Argv, " "), c.ExitCode, time.Duration(c.DurationMS)*time.Millisecond)
	}
	return b.Bytes()
}

// commandList is every process that deed started, the agent first.
func (a *run) commandList() []command {
	var out []command
	for i, y := range a.conversation.yields {
		c := command{
			Role: "agent", Name: a.plan.adapter.ID(), ExitCode: y.Proc.Code, Signal: y.Proc.Signal, TimedOut: y.Proc.TimedOut,
			DurationMS: y.Proc.Duration.Milliseconds(), KilledLeft: y.Proc.Killed,
			Stdout: driver.TurnFile(bundle.PathStdout, i+1), Stderr: driver.TurnFile(bundle.PathStderr, i+1),
		}
		if inv, ok := y.Diagnostics["invocation"].(driver.Invocation); ok {
			c.Argv, c.Cwd = inv.Argv, a.main().Target
			c.Env = names(environ(inv.Env))
		}
		out = append(out, c)
	}
	return append(out, a.commands...)
}

// An observation is a fact that deed measured.
type observation struct {
	Kind   string `json:"kind"`
	Detail any    `json:"detail"`
}

// maxObservedChanges bounds how many changes are listed one by one. The list of changed files has everything that the
// patch carries. Of what it does not carry, such as ignored files, an agent can create millions.
const maxObservedChanges = 20_000

func (a *run) observations() []observation {
	var out []observation
	add := func(kind string, detail any) { out = append(out, observation{kind, detail}) }
	if a.before != nil {
		add("workspace_before", map[string]any{"digest": a.before.Digest(), "entries": len(a.before.Entries), "kind": a.main().Kind, "commit": a.main().Commit, "dirty": a.main().Dirty})
	}
	if a.after != nil {
		add("workspace_after", map[string]any{"digest": a.after.Digest(), "entries": len(a.after.Entries)})
		for i, c := range a.changes.Changes {
			if i == maxObservedChanges {
				add("changes_not_listed", map[string]any{"count": len(a.changes.Changes) - i})
				break
			}
			add("change", map[string]any{"path": c.Path, "status": c.Status, "class": c.Class, "reason": c.Reason})
		}
	}
	for _, y := range a.conversation.yields {
		p := map[string]any{
			"exit_code": y.Proc.Code, "signal": y.Proc.Signal, "timed_out": y.Proc.TimedOut, "duration_ms": y.Proc.Duration.Milliseconds(),
			"user_ms": y.Proc.UserTime.Milliseconds(), "system_ms": y.Proc.SystemTime.Milliseconds(), "killed_after_end": y.Proc.Killed,
		}
		if y.Proc.MaxRSS > 0 {
			p["max_rss_bytes"] = y.Proc.MaxRSS
		}
		add("process", p)
	}
	return out
}

// changedFiles is the change list of the contract. What the patch does not carry is listed with its class.
func (a *run) changedFiles() evidence.ChangedFiles {
	out := evidence.ChangedFiles{Schema: evidence.SchemaChangedFiles, Files: []evidence.ChangedFile{}}
	for _, f := range a.changes.Files() {
		at, _ := a.seeded.Layout.Locate(f.Path)
		out.Files = append(out.Files, evidence.ChangedFile{
			Path: at.Path, RelativePath: at.RelativePath, Status: f.Status,
			BeforeSHA256: f.BeforeSHA256, BeforeMode: f.BeforeMode, AfterSHA256: f.AfterSHA256, AfterMode: f.AfterMode,
			MountIndex: at.MountIndex, MountTarget: at.MountTarget, PatchPath: evidence.PathPatch,
		})
	}
	return out
}

func (a *run) addPatch(w *bundle.Writer) error {
	if a.patch == "" {
		return w.AddBytes(evidence.PathPatch, evidence.KindPatch, evidence.TypeDiff, nil)
	}
	return w.AddFile(evidence.PathPatch, evidence.KindPatch, evidence.TypeDiff, a.patch)
}

// addAttemptFiles adds what the attempt's record points at.
func (a *run) addAttemptFiles(w *bundle.Writer) error {
	if a.brief.Text != "" {
		if err := w.AddBytes(bundle.PathPrompt, bundle.KindPrompt, evidence.TypeText, []byte(a.brief.Text)); err != nil {
			return err
		}
		if err := w.AddBytes(PathBrief, kindBrief, evidence.TypeJSON, a.brief.Document); err != nil {
			return err
		}
	}
	for i, y := range a.conversation.yields {
		for _, f := range []struct{ src, dst, kind, typ string }{
			{y.StdoutPath, bundle.PathStdout, bundle.KindStdout, evidence.TypeText},
			{y.StderrPath, bundle.PathStderr, bundle.KindStderr, evidence.TypeText},
			{y.LastMessagePath, bundle.PathLastMessage, bundle.KindLastMessage, evidence.TypeText},
		} {
			if f.src == "" {
				continue
			}
			if err := w.AddFile(driver.TurnFile(f.dst, i+1), f.kind, f.typ, f.src); err != nil {
				return err
			}
		}
		if err := a.addResult(w, y.ResultPath, driver.TurnFile(bundle.PathResult, i+1)); err != nil {
			return err
		}
		if err := a.addRecords(w, y.Records); err != nil {
			return err
		}
	}
	return nil
}

// addRecords adds what a driver wrote in addition, as it is in the directory of its record.
func (a *run) addRecords(w *bundle.Writer, files []string) error {
	for _, file := range files {
		rel, err := filepath.Rel(a.path("run"), file)
		if err != nil || !filepath.IsLocal(rel) {
			return fmt.Errorf("%s is not in the record of the run", file)
		}
		typ := evidence.TypeBytes
		if path.Ext(rel) == ".json" {
			typ = evidence.TypeJSON
		}
		if err := w.AddFile(path.Join(recordDir, filepath.ToSlash(rel)), kindRecord, typ, file); err != nil {
			return err
		}
	}
	return nil
}

// addResult adds the agent's result. If there are secrets, it is encoded again from its decoded value, so that no
// escape sequence in the agent's spelling hides one.
func (a *run) addResult(w *bundle.Writer, src, dst string) error {
	if src == "" {
		return nil
	}
	if a.redactor.Active() {
		data, err := os.ReadFile(src)
		if err != nil {
			return err
		}
		var v any
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.UseNumber()
		if dec.Decode(&v) == nil {
			if err := a.redactor.Value(&v); err != nil {
				return err
			}
			return w.AddJSON(dst, bundle.KindResult, v)
		}
	}
	return w.AddFile(dst, bundle.KindResult, evidence.TypeJSON, src)
}

func (a *run) addArtifacts(w *bundle.Writer) error {
	if left := a.artifacts.Dropped; len(left) > 0 {
		a.note("artifacts_dropped", map[string]any{"what": left, "others": a.artifacts.Others})
	}
	for _, p := range a.artifacts.Names {
		f, err := a.artifactRoot.Open(p)
		if err != nil {
			return err
		}
		err = w.AddReader(path.Join(artifactDir, p), kindArtifact, evidence.TypeBytes, f)
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}
