package providertask

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/isolate/sandbox"
)

// The classes of remarks.
const (
	WithoutEffect    = "deed.without_effect"   // the provider gets it, and deed itself ignores it
	NotContained     = "deed.not_contained"    // the provider ran with the rights of deed's user
	BackendByDefault = "deed.default_backend"  // the request named none
	LimitLowered     = "deed.limit_lowered"    // no attempt may run longer
	ReaderLiberty    = "deed.request_repaired" // a spelling seen in the wild
)

// remarks lists the fields of a request that deed ignores, and what else a caller should know about how it was run.
// It depends only on what is stored, so a rebuilt outcome has the same remarks.
func remarks(q homeboy.Request, isolation string) []homeboy.Diagnostic {
	var out []homeboy.Diagnostic
	say := func(class, path, format string, args ...any) {
		out = append(out, homeboy.Diagnostic{Class: class, Message: path + " " + fmt.Sprintf(format, args...), Data: mustValue(map[string]any{"path": path})})
	}
	if p := q.Policy; p != nil {
		if !slices.Contains(writesACopy, p.Write) && !slices.Contains(writesNone, p.Write) {
			say(WithoutEffect, "policy.write", "is %q, a word that deed does not know: the provider worked on a copy", p.Write)
		}
		if p.Read != "" && p.Read != homeboy.ReadWorkspace {
			say(WithoutEffect, "policy.read", "is %q: what can be read follows from the isolation, %s", p.Read, isolation)
		}
		if !slices.Contains(appliesLater, p.Apply) && !slices.Contains(appliesNever, p.Apply) {
			say(WithoutEffect, "policy.apply", "is %q: deed applies no change by itself", p.Apply)
		}
		if p.Tools != nil {
			say(WithoutEffect, "policy.tools", "is the provider's to keep: deed's walls are around the provider, not around its tools")
		}
	}
	if w := q.Workspace; w != nil {
		if w.Branch != "" {
			say(WithoutEffect, "workspace.branch", "names no branch that deed makes: the change comes back as a patch")
		}
		if w.Cleanup != "" {
			say(WithoutEffect, "workspace.cleanup", "is %q: deed clears its copy away when the attempt is settled", w.Cleanup)
		}
		if !w.Materialization.Null() {
			say(WithoutEffect, "workspace.materialization", "is passed on to the provider")
		}
	}
	if q.Limits.WallClockMS() > agentruntime.MaxTimeoutMS {
		say(LimitLowered, "limits.timeout_ms", "is more than %d, which no attempt may take", agentruntime.MaxTimeoutMS)
	}
	if isolation != string(sandbox.Namespace) && isolation != string(sandbox.Container) {
		say(NotContained, "isolation", "is %s: the provider ran as deed's user, with its files and its network", isolation)
	}
	if from := backendFrom(q); from != "" {
		say(BackendByDefault, "executor.backend", "is %q by runtimes.default_backend of %s", q.Executor.Backend, from)
	}
	return out
}

// backendFrom is the file that named the backend, for a request that named none.
func backendFrom(q homeboy.Request) string {
	var m struct {
		Deed struct {
			From string `json:"backend_from"`
		} `json:"deed"`
	}
	if len(q.Metadata) == 0 || json.Unmarshal(q.Metadata, &m) != nil {
		return ""
	}
	return m.Deed.From
}
