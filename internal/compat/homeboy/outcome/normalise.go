package outcome

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/contract/homeboy"
)

// Metadata that only deed writes.
const (
	provenance = "artifact_provenance"
	ownMember  = "deed"
)

// The classes of diagnostics about what a provider said of its own run.
const (
	CodeNested      = "agent_task.nested_failure"
	CodeResultEmpty = "provider.run_result_empty"
	CodeResult      = "provider.run_result_failed"
)

// normalise makes one form of what providers say in their own: in the order of the steps.
func normalise(o *homeboy.Outcome, p homeboy.ExecutorProvider) []homeboy.Warning {
	warnings := append(shorten(o), disown(o)...)
	c := copies{left: maxCopied}
	warnings = append(warnings, unwrap(o, p, &c)...)
	rename(o, p.RoleAliases, &c)
	warnings = append(warnings, c.warnings()...)
	warnings = append(warnings, disown(o)...) // a role can be called like what is deed's, and an envelope hold it
	warnings = append(warnings, shorten(o)...)
	mine(o)
	limited(o)
	nested(o, p)
	return warnings
}

// disown takes away what a provider says in deed's name. // edge case 69
func disown(o *homeboy.Outcome) []homeboy.Warning {
	var warnings []homeboy.Warning
	dropUntrusted := func(where string, metadata *homeboy.Value) {
		for _, name := range []string{provenance, ownMember} {
			var had bool
			if *metadata, had = without(*metadata, name); had {
				warnings = append(warnings, homeboy.Warning{Path: where + "." + name, Code: homeboy.WarnDropped, Message: "is for the host to write; it is left out"})
			}
		}
	}
	dropUntrusted("$.metadata", &o.Metadata)
	for i := range o.Artifacts {
		dropUntrusted("$.artifacts.metadata", &o.Artifacts[i].Metadata)
	}
	for i := range o.TypedArtifacts {
		dropUntrusted("$.typed_artifacts.metadata", &o.TypedArtifacts[i].Metadata)
	}
	return warnings
}

// rename gives artifacts, outputs and metadata the names of their roles.
func rename(o *homeboy.Outcome, r *homeboy.RoleAliases, c *copies) {
	if r == nil {
		return
	}
	for i := range o.Artifacts {
		a := &o.Artifacts[i]
		file := path.Base(strings.ReplaceAll(a.Path, `\`, "/"))
		role, ok := roleOf(r.ArtifactKinds, a.Kind)
		if !ok && a.Path != "" {
			role, ok = roleOf(r.ArtifactFilenames, file)
		}
		if !ok && a.Path != "" && a.Name != "" {
			role, ok = roleOf(r.ArtifactFilenames, a.Name)
		}
		if ok && fault.IsName(role) && role != a.Kind {
			a.Metadata = with(a.Metadata, "provider_kind", a.Kind)
			a.Kind = role
		}
		if role, ok := roleOf(r.ArtifactRoles, a.Role); ok && a.Role != "" && role != a.Role {
			a.Metadata = with(a.Metadata, "provider_role", a.Role)
			a.Role = role
		}
	}
	found := firstOf(r.Outputs, o.Outputs)
	for _, role := range slices.Sorted(maps.Keys(found)) {
		if v := o.Outputs[found[role]]; c.take(v) {
			o.Outputs[role] = v
		}
	}
	if members, ok := object(o.Metadata); ok {
		found := firstOf(r.Metadata, members)
		for _, role := range slices.Sorted(maps.Keys(found)) {
			if v := members[found[role]]; c.take(v) {
				members[role] = v
			}
		}
		if len(found) > 0 {
			o.Metadata = value(members)
		}
	}
}

// roleOf returns the role of a native name. A name that is a role already keeps it.
func roleOf(roles map[string]homeboy.Texts, native string) (string, bool) {
	if _, is := roles[native]; is {
		return native, true
	}
	for _, role := range slices.Sorted(maps.Keys(roles)) {
		for _, pattern := range roles[role] {
			if matches(pattern, native) {
				return role, true
			}
		}
	}
	return "", false
}

// firstOf returns for each role that has no member the first native name that has one.
func firstOf(roles map[string]homeboy.Texts, members map[string]homeboy.Value) map[string]string {
	found := map[string]string{}
	for role, natives := range roles {
		if _, there := members[role]; there {
			continue
		}
		for _, native := range natives {
			if _, there := members[native]; there {
				found[role] = native
				break
			}
		}
	}
	return found
}

// matches reports whether a text matches a pattern, in which * matches any text.
func matches(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == text
	}
	rest, ok := strings.CutPrefix(text, parts[0])
	if !ok {
		return false
	}
	last := parts[len(parts)-1]
	for _, part := range parts[1 : len(parts)-1] {
		_, after, found := strings.Cut(rest, part)
		if !found {
			return false
		}
		rest = after
	}
	return strings.HasSuffix(rest, last)
}

// resultOf returns a provider's own account of its run.
func resultOf(o *homeboy.Outcome) (map[string]homeboy.Value, bool) {
	if members, ok := object(o.Outputs[runResult]); ok {
		return members, true
	}
	metadata, _ := object(o.Metadata)
	return object(metadata[runResult])
}

// replies are the members of a run's account that hold what an agent said or did.
var replies = []string{"reply", "message", "messages", "assistant_message", "assistant_messages", "text", "output", "result", "tool_calls", "tool_uses", "tool_use"}

// mine takes the identity of an error out of the account of a failed run, and does not take a run for a success that
// did not complete and left nothing. // edge case 73
func mine(o *homeboy.Outcome) {
	result, ok := resultOf(o)
	if !ok {
		return
	}
	if !homeboy.IsSuccess(o.Status) {
		identify(o, result)
		return
	}
	said := slices.ContainsFunc(replies, func(name string) bool { return substantial(result[name]) })
	if string(result["completed"]) != "false" || said {
		return
	}
	o.Metadata = with(o.Metadata, "provider_status", o.Status)
	o.Status, o.FailureClassification = homeboy.ProviderError, homeboy.ClassProvider
	yes := true
	o.Retryable = &yes
	addDiagnostic(o, CodeResultEmpty, "the run did not complete, and there is no reply, message or use of a tool in it", map[string]any{"phase": PhaseRun})
}

func identify(o *homeboy.Outcome, result map[string]homeboy.Value) {
	fault := result["error"]
	if !substantial(fault) {
		return
	}
	members, _ := object(fault)
	for _, name := range []string{"code", "type", "name"} {
		if text, _ := members[name].Text(); text != "" && o.FailureCode == "" {
			o.FailureCode = text
		}
	}
	addDiagnostic(o, CodeResult, "the provider's own account of the run has an error", map[string]any{"phase": PhaseRun, "error": fault})
}

// retryHints are the members that say when a provider can be asked again.
var retryHints = []string{"retry_after_ms", "retry_after_seconds", "retry_after", "retry_at", "reset_at", "resets_at"}

// limited distinguishes a refusal for too much use from other faults, by its class and its category and never by its
// text, and keeps the provider's wish about when to ask again. // edge cases 58, 70
func limited(o *homeboy.Outcome) {
	if o.FailureClassification == homeboy.ClassProvider && o.FailureCategory == homeboy.CategoryRateLimit {
		o.FailureClassification = homeboy.ClassRateLimited
	}
	if o.FailureClassification != homeboy.ClassRateLimited {
		return
	}
	if o.Retryable == nil {
		yes := true
		o.Retryable = &yes
	}
	hint := map[string]homeboy.Value{}
	look := func(v homeboy.Value) {
		members, _ := object(v)
		for _, name := range retryHints {
			if _, have := hint[name]; !have && substantial(members[name]) {
				hint[name] = members[name]
			}
		}
	}
	look(o.Metadata)
	look(value(o.Extra))
	for _, d := range o.Diagnostics {
		look(d.Data)
		look(value(d.Extra))
	}
	if len(hint) > 0 {
		o.Metadata = with(o.Metadata, "retry_hint", hint)
	}
}
