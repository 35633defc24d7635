package promote

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/base/proc"
)

// maxAnswer bounds what a verifier may answer, and what is kept of its stderr.
const maxAnswer = 64 << 10

// How an external verifier can end.
const (
	verifierCompleted = "completed"
	verifierTimedOut  = "timed_out"
	verifierCancelled = "cancelled"
	verifierOverflow  = "overflow"
	verifierMalformed = "malformed"
	verifierFailed    = "failed"
)

var errOverflow = fmt.Errorf("the answer is longer than %d bytes", maxAnswer)

// An answer is what a verifier says.
type answer struct {
	Accepted *bool  `json:"accepted"`
	Reason   string `json:"reason,omitempty"`
}

// ask gives the report to the external verifier on its standard input and takes its answer. It always ends: a verifier
// that reads nothing, answers without end or leaves processes behind counts as one that did not accept. The supervisor
// ends what the verifier started.
func (j *job) ask(ctx context.Context, sup *proc.Supervisor) (bool, error) {
	r := j.report
	r.Status = homeboy.PromotionVerificationPending
	in, err := json.Marshal(r)
	if err != nil {
		return false, err
	}
	limit := j.Patience
	if limit <= 0 {
		limit = DefaultVerifierTimeout
	}
	out, stderr := &limited{limit: maxAnswer, over: errOverflow}, &limited{limit: maxAnswer}
	exit, err := sup.Run(ctx, proc.Spec{
		Argv: []string{"/bin/sh", "-c", j.Verifier}, Dir: j.Dir, Env: j.Environ, Stdin: bytes.NewReader(in), Stdout: out, Stderr: stderr,
		Timeout: limit, Grace: time.Second,
	})
	v := &homeboy.PromotionVerifier{DurationMS: exit.Duration.Milliseconds()}
	j.report.Verifier, j.ran = v, true
	reject := func(end, format string, args ...any) (bool, error) {
		v.Termination, v.Reason = end, j.Redact.String(fmt.Sprintf(format, args...))
		return false, nil
	}
	switch {
	case out.exceeded:
		return reject(verifierOverflow, "%v", errOverflow)
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	case err != nil:
		return reject(verifierFailed, "it could not be run: %v", err)
	case exit.TimedOut:
		return reject(verifierTimedOut, "it took longer than %s", limit)
	case exit.Canceled:
		return reject(verifierCancelled, "%v", exit.Cause)
	case exit.Code != 0:
		return reject(verifierFailed, "it ended with exit code %d: %s", exit.Code, strings.TrimSpace(stderr.text()))
	}
	var a answer
	if err := json.Unmarshal(out.buf, &a); err != nil {
		return reject(verifierMalformed, "its answer cannot be read: %v", err)
	}
	if a.Accepted == nil {
		return reject(verifierMalformed, `its answer has no "accepted" (answer {"accepted": true or false, "reason": "..."})`)
	}
	v.Accepted, v.Reason, v.Termination = *a.Accepted, j.Redact.String(a.Reason), verifierCompleted
	return v.Accepted, nil
}

// A limited keeps the beginning of a stream. With an error it takes no more than that; else it drops the rest.
type limited struct {
	limit    int
	over     error
	buf      []byte
	exceeded bool
}

func (l *limited) Write(p []byte) (int, error) {
	room := l.limit - len(l.buf)
	l.buf = append(l.buf, p[:min(room, len(p))]...)
	if len(p) > room {
		l.exceeded = true
		if l.over != nil {
			return 0, l.over
		}
	}
	return len(p), nil
}

func (l *limited) text() string { return strings.ToValidUTF8(string(l.buf), "\uFFFD") }
