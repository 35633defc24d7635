package runtimepkg

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/base/truncate"
)

// Schema ids of what a readiness command reads and writes.
const (
	SchemaReadinessRequest = "homeboy/agent-task-provider-readiness-request/v1"
	SchemaReadinessResult  = "homeboy/agent-task-provider-readiness-result/v1"
)

// What a readiness command can say.
const (
	ClassReady        = "ready"
	ClassIncompatible = "deterministic_incompatibility"
	ClassAuth         = "auth_failure"
	ClassUnknown      = "unknown_metadata"
	ClassTransient    = "transient_failure"
)

// A Probe is what a readiness command said. Anything that it did not say as it should is not ready.
type Probe struct {
	Ready            bool     `json:"ready"`
	Classification   string   `json:"classification"`
	Retryable        bool     `json:"retryable"`
	Remediation      string   `json:"remediation,omitempty"`
	Reason           string   `json:"reason,omitempty"`
	Message          string   `json:"message,omitempty"`
	MissingSecretEnv []string `json:"missing_secret_env,omitempty"`
}

// ran is what a probe left behind.
type ran struct {
	exit           proc.Exit
	stdout, stderr []byte
}

// run runs a probe with a limit, a clean environment and a bound on what it writes, and ends its whole tree.
func (c *Checker) run(ctx context.Context, s *Selection, cmd Command, stdin []byte) (ran, error) {
	limit := c.Limit
	if limit == 0 {
		limit = probeLimit
	}
	sup, err := proc.NewSupervisor(ctx, proc.Options{})
	if err != nil {
		return ran{}, err
	}
	defer func() { _ = sup.Close() }() // its tree has ended with Run
	dir := cmd.Dir
	if dir == "" {
		dir = s.Package.Real
	}
	out, errs := &capped{left: probeOutput}, &capped{left: probeOutput, discard: true}
	spec := proc.Spec{Argv: cmd.Argv, Dir: dir, Env: c.environment(cmd), Stdout: out, Stderr: errs, Timeout: limit, Grace: time.Second}
	if stdin != nil {
		spec.Stdin = bytes.NewReader(stdin)
	}
	exit, err := sup.Run(ctx, spec)
	// Before anything is cut: half a secret would not be known again.
	r := ran{exit, cmd.hide.Bytes(out.buf.Bytes()), cmd.hide.Bytes(errs.buf.Bytes())}
	switch {
	case out.over:
		return r, fmt.Errorf("it wrote more than %d bytes", probeOutput)
	case err != nil:
		return r, err
	case exit.TimedOut:
		return r, fmt.Errorf("it did not end within %v", limit)
	case exit.Canceled:
		return r, context.Cause(ctx)
	}
	return r, nil
}

// capped keeps what is written up to a bound, and then refuses or swallows the rest.
type capped struct {
	buf     bytes.Buffer
	left    int
	discard bool
	over    bool
}

func (w *capped) Write(p []byte) (int, error) {
	n := min(len(p), w.left)
	w.buf.Write(p[:n])
	w.left -= n
	if n < len(p) && !w.discard {
		w.over = true
		return n, errors.New("output limit reached")
	}
	return len(p), nil
}

// shownTail returns the end of a probe's output, fit to be shown.
func shownTail(text []byte) string {
	s := strings.TrimSpace(string(bytes.ToValidUTF8(text, []byte("\uFFFD"))))
	const most = 1000
	if len(s) > most {
		s = "… " + strings.ToValidUTF8(s[len(s)-most:], "")
	}
	return s
}

func (c *Checker) version(ctx context.Context, s *Selection, cmd Command) (string, error) {
	r, err := c.run(ctx, s, cmd, nil)
	if err != nil {
		return "", err
	}
	if r.exit.Code != 0 {
		return "", fmt.Errorf("exit %d: %s", r.exit.Code, shownTail(r.stderr))
	}
	text := shownTail(r.stdout)
	if text == "" {
		text = shownTail(r.stderr)
	}
	line, _, _ := strings.Cut(text, "\n")
	return truncate.Head(line, 200), nil
}

// probe runs a check's own command: it is ready when that ends with 0.
func (c *Checker) probe(ctx context.Context, s *Selection, check Check, cmd Command) Check {
	check.Kind = KindProbe
	r, err := c.run(ctx, s, cmd, nil)
	if err == nil && r.exit.Code == 0 {
		check.Detail, check.Remedy = cmd.Display+" ends with 0", ""
		return check
	}
	check.Status = CheckFailed
	if err != nil {
		check.Detail = fmt.Sprintf("%s: %v", cmd.Display, err)
	} else {
		check.Detail = fmt.Sprintf("%s ends with %d", cmd.Display, r.exit.Code)
	}
	if said := shownTail(append(r.stderr, r.stdout...)); said != "" {
		check.Detail += ": " + said
	}
	if check.Remedy == "" {
		check.Remedy = "run it by hand in " + filepath.Clean(s.Package.Real)
	}
	return check
}

// readinessRequest is what a provider's readiness command reads.
type readinessRequest struct {
	Schema          string `json:"schema"`
	ProviderID      string `json:"provider_id"`
	Backend         string `json:"backend"`
	EffectiveConfig any    `json:"effective_config"`
}

// readinessProbe asks the provider itself. It fails closed: what is malformed, late or of another schema is not ready.
func (c *Checker) readinessProbe(ctx context.Context, s *Selection, cmd Command, doc Document) Check {
	check := Check{ID: "readiness_invocation", Kind: KindProbe, Status: CheckFailed}
	stdin, err := json.Marshal(readinessRequest{SchemaReadinessRequest, s.Provider.ID, s.Provider.Backend, effectiveConfig(s, doc)})
	if err != nil {
		check.Detail = err.Error()
		return check
	}
	r, err := c.run(ctx, s, cmd, stdin)
	if err == nil && r.exit.Code != 0 {
		err = fmt.Errorf("it ends with %d: %s", r.exit.Code, shownTail(r.stderr))
	}
	var p *Probe
	if err == nil {
		p, err = readProbe(r.stdout)
	}
	if err != nil {
		check.Detail = fmt.Sprintf("%s: %v", cmd.Display, err)
		check.Remedy = "run it by hand in " + s.Package.Real
		check.Probe = &Probe{Classification: ClassUnknown}
		return check
	}
	for _, text := range []*string{&p.Remediation, &p.Reason, &p.Message} {
		*text = shownTail([]byte(*text))
	}
	check.Probe, check.Remedy, check.Detail = p, p.Remediation, p.Classification
	if p.Reason != "" {
		check.Detail += ": " + p.Reason
	}
	if p.Ready {
		check.Status = CheckOK
	}
	return check
}

// effectiveConfig is the provider's own configuration as the run will have it: the model of the request wins.
func effectiveConfig(s *Selection, doc Document) any {
	full, _ := s.Complete(doc)
	config, _ := full.At("executor.config")
	table, ok := config.(map[string]any)
	if !ok {
		return map[string]any{}
	}
	if m := full.text("executor.model", "executor.runtime_selection.model"); m != "" {
		table["model"] = m // Complete made a copy
	}
	return table
}

// readProbe reads one result and nothing else.
func readProbe(data []byte) (*Probe, error) {
	var doc struct {
		Schema string `json:"schema"`
		Ready  *bool  `json:"ready"`
		Probe
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, errors.New("it did not write one JSON object")
	}
	p := doc.Probe
	switch {
	case doc.Schema != SchemaReadinessResult:
		return nil, fmt.Errorf("it wrote the schema %.100q, and not %q", doc.Schema, SchemaReadinessResult)
	case doc.Ready == nil:
		return nil, errors.New("it does not say ready")
	}
	p.Ready = *doc.Ready
	switch p.Classification {
	case ClassReady, ClassIncompatible, ClassAuth, ClassUnknown, ClassTransient:
	default:
		return nil, fmt.Errorf("it wrote the classification %.100q", p.Classification)
	}
	if p.Ready != (p.Classification == ClassReady) {
		return nil, fmt.Errorf("it says ready %v and classification %q", p.Ready, p.Classification)
	}
	return &p, nil
}
