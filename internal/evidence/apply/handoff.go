// Package apply owns what is done with a bundle after its run: the preflight, the envelope that crosses a trust boundary,
// and applying a change to somebody's directory, which can wait for a person and can be undone. It does not judge the work,
// and it never writes to a bundle.
//
// Applying is all or nothing, also when deed is killed:
//
//	verify ─► compare with the directory ─► journal ─► stage ─► switch ─► re-read ─► mark ─► audit ─► close
//
// The journal, in the home, holds what every file was. From there on, however the process ends, the next apply or undo in
// this home finds the open journal and puts every file back. The stage is a directory in the target, so that one rename
// puts each file into place. A kernel lock on the target's directory excludes a second applier, also one of another home.
package apply

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/home"
	"github.com/deedrun/deed/internal/isolate/redact"
)

// Adapter is how deed calls itself in results.
const Adapter = "deed"

// Codes of the reasons for which a change is not applied.
const (
	ReasonBundleInvalid       = "bundle_invalid"        // the bundle does not verify
	ReasonBundleChanged       = "bundle_changed"        // it is not the bundle that was verified, or staged
	ReasonNotContentAddressed = "not_content_addressed" // its id does not name a change
	ReasonSignature           = "signature_untrusted"   // it is not signed by a trusted key
	ReasonNotAccepted         = "not_accepted"          // no gate accepted the work
	ReasonEvidenceOnly        = "apply_back_disabled"   // the run was requested as evidence only
	ReasonRedacted            = "patch_redacted"        // a secret was taken out of the patch, so it is not the change any more
	ReasonChangeList          = "change_list_invalid"   // the change list contradicts itself
	ReasonPatchPaths          = "patch_paths_mismatch"  // the patch names other files than the change list
	ReasonPatch               = "patch_refused"         // git does not take the patch, or it is not a plain one
	ReasonSurprise            = "result_mismatch"       // the patch does something that the change list does not say
	ReasonWorkspace           = "workspace_unknown"     // the bundle has several workspaces, or not this one
	ReasonUnapproved          = "approval_unknown"      // an approved file is not part of the change
	ReasonPath                = "path_refused"          // a path leads elsewhere or is git's own
	ReasonLinkedParent        = "symlink_parent"        // a directory on the way is a link
	ReasonHardLink            = "hard_link"             // the file has another name that would not change with it
	ReasonDrift               = "base_drift"            // the file is not as the agent found it
	ReasonBusy                = "target_busy"           // another deed applies to this directory
	ReasonUndo                = "not_undoable"          // there is nothing to undo, or it was undone
	ReasonChangedSince        = "changed_since"         // the file is not as the apply left it
	ReasonInterrupted         = "recovery_blocked"      // an apply that was cut short cannot be taken back
)

// A Refusal lists every reason for which nothing was changed.
type Refusal struct {
	Reasons []evidence.ApplyReason
}

func (r *Refusal) Error() string {
	lines := make([]string, len(r.Reasons))
	for i, reason := range r.Reasons {
		lines[i] = sentence(reason)
	}
	return "nothing was changed:\n" + strings.Join(lines, "\n")
}

// sentence is a reason as a sentence: its path, followed by its message.
func sentence(r evidence.ApplyReason) string {
	if r.Path == "" {
		return r.Message
	}
	return Shown(r.Path) + " " + r.Message
}

// Code is the code of the first reason.
func (r *Refusal) Code() string { return r.Reasons[0].Code }

func refuse(code, path, format string, args ...any) *Refusal {
	return &Refusal{[]evidence.ApplyReason{{Code: code, Path: path, Message: fmt.Sprintf(format, args...)}}}
}

// refused returns the reasons as an error, or nil when there are none.
func refused(reasons []evidence.ApplyReason) error {
	if len(reasons) == 0 {
		return nil
	}
	return &Refusal{reasons}
}

// Shown makes a path safe for a message: one that could mislead a reader is quoted.
func Shown(p string) string {
	odd := func(r rune) bool { return !unicode.IsGraphic(r) || unicode.Is(unicode.Cf, r) }
	if p == "" || !utf8.ValidString(p) || strings.ContainsFunc(p, odd) || strings.TrimSpace(p) != p {
		return strconv.Quote(p)
	}
	return p
}

// An Applier applies changes and remembers, in its home, what they replaced.
type Applier struct {
	Home  *home.Home
	Clock clock.Clock
	// Redact keeps secrets out of the audit log and of results; it may be nil.
	Redact *redact.Redactor
}

// failure turns an error into the result's own form, redacted.
func (a *Applier) failure(err error) *evidence.ApplyError {
	out := &evidence.ApplyError{Code: "failed", Message: a.Redact.String(err.Error())}
	var r *Refusal
	if errors.As(err, &r) {
		out.Code = r.Code()
		for _, reason := range r.Reasons {
			reason.Message, reason.Path = a.Redact.String(reason.Message), a.Redact.String(reason.Path)
			out.Reasons = append(out.Reasons, reason)
		}
	}
	return out
}
