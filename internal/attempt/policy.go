package attempt

import (
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/isolate/sandbox"
)

// policy reports the restrictions that held for the agent, as the sandbox itself accounts for them. A missing
// restriction is reported as missing; nothing here is a constant.
func (a *run) policy() evidence.Policy {
	p := evidence.Policy{
		Network: "host", Filesystem: "host", Commands: []string{}, Secrets: "by-name", Approvals: "never",
		Enforcement: evidence.PolicyEnforcement{
			Network:    evidence.PolicyBlock{Status: evidence.PolicyNotConfigured, Detail: "containment " + string(a.plan.kind) + " does not limit the network"},
			Filesystem: evidence.PolicyBlock{Status: evidence.PolicyDeclared, Detail: "the write scope is judged by the gate; containment " + string(a.plan.kind) + " does not prevent writes elsewhere"},
			Commands:   evidence.PolicyBlock{Status: evidence.PolicyNotConfigured},
			Secrets:    evidence.PolicyBlock{Status: evidence.PolicyNotConfigured},
			Approvals:  evidence.PolicyBlock{Status: evidence.PolicyNotConfigured},
			Isolation:  evidence.PolicyBlock{Status: evidence.PolicyEnforced, Detail: "own process tree, clean environment, own home; ended whole"},
			Limits:     evidence.PolicyBlock{Status: evidence.PolicyEnforced, Detail: "wall time and output"},
		},
	}
	if len(a.plan.spec.SecretEnv) > 0 {
		p.Enforcement.Secrets = evidence.PolicyBlock{Status: evidence.PolicyEnforced, Detail: "given by name; values are redacted from every file of this bundle"}
	}
	if a.agent.box == nil {
		return p
	}
	walls := a.agent.box.Restrictions()
	if a.plan.contained() {
		p.Filesystem, p.Network = "mounts", "deny"
		allow := a.plan.hosts
		if s := a.plan.spec.Sandbox; s != nil {
			allow = slices.Concat(s.Network, allow)
		}
		if len(allow) > 0 {
			p.Network = "allow: " + strings.Join(allow, ", ")
		}
		p.Enforcement.Filesystem = block(walls, sandbox.RestrictFilesystem)
		p.Enforcement.Network = block(walls, sandbox.RestrictNetwork)
		p.Enforcement.Isolation = block(walls, sandbox.RestrictProcessView, sandbox.RestrictPrivileges, sandbox.RestrictSyscalls)
	}
	p.Enforcement.Limits = block(walls, sandbox.RestrictMemory, sandbox.RestrictProcesses, sandbox.RestrictFileSize, sandbox.RestrictOpenFiles, sandbox.RestrictDisk)
	p.Enforcement.Limits.Detail += "; wall time and output: enforced"
	return p
}

// block combines restrictions into one: the strictness is that of the weakest, with the mechanism of each.
func block(list []sandbox.Restriction, names ...string) evidence.PolicyBlock {
	rank := map[string]int{evidence.PolicyEnforced: 2, evidence.PolicyMonitored: 1, evidence.PolicyNotConfigured: 0}
	b := evidence.PolicyBlock{Status: evidence.PolicyEnforced}
	var details []string
	for _, w := range list {
		if !slices.Contains(names, w.Name) {
			continue
		}
		if rank[w.State] < rank[b.Status] {
			b.Status = w.State
		}
		text := w.Name + ": " + w.State
		if w.By != "" {
			text += " by " + w.By
		}
		if w.Detail != "" {
			text += " (" + w.Detail + ")"
		}
		details = append(details, text)
	}
	b.Detail = strings.Join(details, "; ")
	return b
}
