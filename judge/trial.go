package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/proc"
)

// What deed made of a trial.
const (
	accepted = "accepted"
	rejected = "rejected"
	asked    = "asked" // a person has to answer, or a refusal says that one would have to
	failed   = "error" // there is no verdict: infrastructure, a deadline, a broken case
)

// codeNeedsPerson is the reason of a refusal that a person could have allowed.
const codeNeedsPerson = "needs_person"

// An outcome is what deed made of one trial.
type outcome struct {
	Trial   string `json:"trial"` // PROJECT/CASE:FORM
	Project string `json:"project"`
	System  string `json:"ecosystem"`
	Kind    string `json:"kind"`
	Form    string `json:"form"`
	Set     string `json:"set"`
	Label   string `json:"label"`
	Verdict string `json:"verdict"`
	Score   string `json:"score"`
	Grade   string `json:"grade,omitempty"`
	// Unseeable: the work is wrong, and no check of this trial can tell.
	Unseeable bool     `json:"unseeable,omitempty"`
	Codes     []string `json:"codes,omitempty"`
	Reasons   []string `json:"reasons,omitempty"`
	Error     string   `json:"error,omitempty"`
	Script    string   `json:"script_sha256"`
	MS        int64    `json:"duration_ms"`
	took      time.Duration
	evidence  string
}

// claim is what every agent says at its end, whatever it did.
const claim = `{"status":"completed","machine_status":"ok","operator_summary":"done"}`

// agentScript is the agent of a case. What the case prints is talk, and its exit ends it alone.
func agentScript(a *attempt) string {
	body := strings.TrimPrefix(a.Script, "#!/bin/sh\n")
	return "#!/bin/sh\n(\n" + body + "\n) >&2\ncode=$?\n[ \"$code\" = 0 ] || exit \"$code\"\necho '" + claim + "'\n"
}

// A runner runs trials with the binary of deed.
type runner struct {
	deed     string
	deadline time.Duration
}

// prepare writes the scripts of the cases and the configuration by which a request names them.
func (r *runner) prepare(l *place, cases []*attempt) error {
	var cfg strings.Builder
	cfg.WriteString("adapters:\n")
	for _, a := range cases {
		file := filepath.Join(l.agents(), a.Name+".sh")
		if err := os.WriteFile(file, []byte(agentScript(a)), 0o755); err != nil { //nolint:gosec // an agent is executed
			return fmt.Errorf("write the agent of %s/%s: %w", a.Project.Name, a.Name, err)
		}
		fmt.Fprintf(&cfg, "  %s: {kind: script, command: %q, timeout_ms: 60000}\n", a.Name, file)
	}
	return os.WriteFile(filepath.Join(l.home(), "deed.yaml"), []byte(cfg.String()), 0o600)
}

// run makes one trial.
func (r *runner) run(ctx context.Context, l *place, t trial) outcome {
	o := outcome{
		Trial: t.ID(), Project: t.Project.Name, System: t.Project.Ecosystem, Kind: t.Kind, Form: t.Form, Set: t.Set, Label: t.Label,
		Unseeable: t.unseeable(), Script: digest([]byte(t.Script)),
	}
	ctx, cancel := context.WithTimeoutCause(ctx, r.deadline, fmt.Errorf("no verdict in %s", r.deadline))
	defer cancel()
	tree, err := l.base(ctx, t.Base)
	start := clock.Start()
	if err == nil {
		err = r.judge(ctx, l, t, tree, &o)
	}
	o.took = clock.Since(start)
	o.MS = o.took.Milliseconds()
	if err != nil {
		o.Verdict, o.Error = failed, err.Error()
	}
	o.Score = score(o.Label, o.Verdict, o.Unseeable)
	return o
}

// judge runs deed and reads its answer.
func (r *runner) judge(ctx context.Context, l *place, t trial, tree string, o *outcome) error {
	argv, err := r.command(l, t, tree)
	if err != nil {
		return err
	}
	res, err := proc.Tool(ctx, proc.ToolSpec{Argv: argv, Dir: tree, Env: environment()})
	if err != nil {
		return err
	}
	if t.Form == formSteps {
		return readEnvelope(res.Stdout, o)
	}
	if len(res.Stdout) == 0 {
		return fmt.Errorf("deed ended with %d: %s", res.ExitCode, lastLine(res.Stderr))
	}
	return readRun(res.Stdout, o)
}

// command is what a user would type.
func (r *runner) command(l *place, t trial, tree string) ([]string, error) {
	p := t.Project
	if t.Form == formSteps {
		request, err := writeRequest(l, t, tree)
		return []string{r.deed, "--home", l.home(), "agent-task-run", "--json", "--input-file", request}, err
	}
	argv := []string{r.deed, "--home", l.home(), "run", "--json", "--script", filepath.Join(l.agents(), t.Name+".sh")}
	if t.Form == formCapability {
		argv = append(argv, "--check", p.Capability)
	} else {
		argv = append(argv, "--check", p.Shell)
	}
	if t.Form == formHidden {
		argv = append(argv, "--hidden-check", p.Hidden.Shell)
		files, err := filepath.Abs(filepath.Join(p.Dir, "hidden"))
		if err != nil {
			return nil, err
		}
		if _, err := os.Stat(files); err == nil {
			argv = append(argv, "--hidden-files", files)
		}
	}
	return append(argv, "--", t.Task), nil
}

// writeRequest writes what an orchestrator would send.
func writeRequest(l *place, t trial, tree string) (string, error) {
	text, err := json.Marshal(map[string]any{
		"schema": "wp-codebox/task-input/v1", "goal": t.Task, "agent": t.Name,
		"workspaces": []any{map[string]any{
			"target": "/workspace/" + t.Project.Name, "seed": map[string]any{"type": "directory", "source": tree},
		}},
		"verify_steps": []any{map[string]any{"shell": t.Project.Shell}},
	})
	if err != nil {
		return "", err
	}
	file := filepath.Join(l.agents(), t.Name+".json")
	return file, os.WriteFile(file, text, 0o600)
}

// readRun reads what `deed run --json` printed.
func readRun(text []byte, o *outcome) error {
	var doc struct {
		Status  string          `json:"status"`
		Class   string          `json:"class"`
		Error   json.RawMessage `json:"error"`
		Bundle  string          `json:"bundle"`
		Verdict json.RawMessage `json:"verdict"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return fmt.Errorf("read the answer of deed run: %w", err)
	}
	o.evidence = doc.Bundle
	return o.read(doc.Status, doc.Class, string(doc.Error), doc.Verdict)
}

// readEnvelope reads what `deed agent-task-run --json` printed; the verdict is in its bundle.
func readEnvelope(text []byte, o *outcome) error {
	var doc struct {
		Status      string `json:"status"`
		Artifacts   string `json:"artifacts"`
		Diagnostics []struct {
			Class   string `json:"class"`
			Message string `json:"message"`
		} `json:"diagnostics"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return fmt.Errorf("read the envelope: %w", err)
	}
	o.evidence = doc.Artifacts
	why := ""
	for _, d := range doc.Diagnostics {
		why += d.Class + ": " + d.Message + "; "
	}
	verdict, err := os.ReadFile(filepath.Join(doc.Artifacts, "files", "verdict.json"))
	if err != nil {
		return fmt.Errorf("there is no verdict: status %s: %s", doc.Status, why)
	}
	return o.read(doc.Status, doc.Status, why, verdict)
}

// read takes over a verdict, or says why there is none.
func (o *outcome) read(status, class, why string, text []byte) error {
	if status == "blocked" || class == "blocked" {
		o.Verdict = asked
		return nil
	}
	if len(text) == 0 || string(text) == "null" {
		return fmt.Errorf("there is no verdict: status %s, class %s: %s", status, class, why)
	}
	var v struct {
		deed.Verdict
		Grade string `json:"grade"`
	}
	if err := json.Unmarshal(text, &v); err != nil {
		return fmt.Errorf("read the verdict: %w", err)
	}
	if v.Schema != deed.SchemaVerdict {
		return errors.New("read the verdict: its schema is " + v.Schema)
	}
	o.Verdict, o.Grade = accepted, v.Grade
	if !v.Accepted {
		o.Verdict = rejected
	}
	for _, r := range v.Reasons {
		if r.Code == codeNeedsPerson {
			o.Verdict = asked
		}
		o.reason(r)
	}
	return nil
}

// maxReasons is how many reasons of a verdict are kept.
const maxReasons = 6

func (o *outcome) reason(r deed.Reason) {
	if !slices.Contains(o.Codes, r.Code) {
		o.Codes = append(o.Codes, r.Code)
	}
	if len(o.Reasons) < maxReasons {
		o.Reasons = append(o.Reasons, r.Message)
	}
}

// lastLine is the end of what a program said.
func lastLine(text []byte) string {
	s := strings.TrimSpace(string(text))
	return s[strings.LastIndexByte(s, '\n')+1:]
}
