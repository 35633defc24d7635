package packaged

import (
	"maps"
	"slices"

	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/agent/driver/process"
)

// maxVariable bounds a document in a variable: the kernel takes no string of 128 KiB. All of them are in the request as well.
const maxVariable = 96 << 10

// noPush keeps git from publishing: neither a helper nor a question finds a credential. What is in the repository can be read.
var noPush = map[string]string{
	"GIT_ASKPASS": "/bin/false", "GIT_TERMINAL_PROMPT": "0", "GIT_CONFIG_NOSYSTEM": "1",
	"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "credential.helper", "GIT_CONFIG_VALUE_0": "",
}

// A secretPlan lists for a provider which secrets it has, by name.
type secretPlan struct {
	Schema       string              `json:"schema"`
	Names        []string            `json:"secret_env_names"`
	Requirements []secretRequirement `json:"requirements"`
	Status       []secretStatus      `json:"status"`
	Inheritance  secretInheritance   `json:"inheritance"`
}

type secretRequirement struct {
	Name     string `json:"name"`
	Required bool   `json:"required"`
}

type secretStatus struct {
	Name       string `json:"name"`
	Configured bool   `json:"configured"`
	Source     string `json:"source,omitempty"`
}

type secretInheritance struct {
	RequireDeclaration bool     `json:"require_declaration"`
	AllowedEnvNames    []string `json:"allowed_env_names"`
}

// Schema ids of documents that only providers and hosts exchange.
const (
	schemaSecretPlan  = "homeboy/secret-env-plan/v1"
	schemaToolRequest = "homeboy/agent-tool-request/v1"
	schemaToolResult  = "homeboy/agent-tool-result/v1"
)

func (p *plan) secretPlan() secretPlan {
	out := secretPlan{Schema: schemaSecretPlan, Names: []string{}, Requirements: []secretRequirement{}, Status: []secretStatus{}, Inheritance: secretInheritance{true, []string{}}}
	for _, s := range p.secrets {
		out.Names = append(out.Names, s.Name)
		out.Requirements = append(out.Requirements, secretRequirement{s.Name, s.Required})
		out.Status = append(out.Status, secretStatus{s.Name, s.Configured, s.Source})
	}
	out.Inheritance.AllowedEnvNames = append(out.Inheritance.AllowedEnvNames, slices.Sorted(maps.Keys(p.env))...)
	return out
}

// vars is the environment of a run: that of every agent, and what is declared for this provider.
func (t *turn) vars(agent process.Vars) (process.Vars, error) {
	p, j, q := t.plan, t.job, t.sent
	artifacts, path := j.Inside(j.Dirs.Artifacts), j.Inside(p.selection.Package.Real)
	more := maps.Clone(p.env)
	maps.Copy(more, map[string]string{
		"HOMEBOY_AGENT_TASK_PROVIDER_ID":      p.selection.Provider.ID,
		"HOMEBOY_AGENT_RUNTIME_ID":            p.selection.Package.ID,
		"HOMEBOY_AGENT_RUNTIME_PATH":          path,
		"HOMEBOY_RUNTIME_PATH":                path,
		"HOMEBOY_AGENT_TASK_ARTIFACTS_DIR":    artifacts,
		"HOMEBOY_RUNTIME_AGENT_ARTIFACTS_DIR": artifacts,
		"HOMEBOY_AGENT_TOOL_REQUEST_SCHEMA":   schemaToolRequest,
		"HOMEBOY_AGENT_TOOL_RESULT_SCHEMA":    schemaToolResult,
		"HOMEBOY_AGENT_TOOL_POLICY_SCHEMA":    homeboy.SchemaToolPolicy,
	})
	policy := &homeboy.ToolPolicy{Schema: homeboy.SchemaToolPolicy, DefaultLocation: homeboy.LocationDisabled}
	if q.Policy != nil && q.Policy.Tools != nil {
		policy = q.Policy.Tools
	}
	for name, doc := range map[string]any{
		"HOMEBOY_AGENT_TASK_EXECUTOR_CONFIG_JSON": q.Executor.Config,
		"HOMEBOY_AGENT_TASK_SECRET_ENV_PLAN_JSON": p.secretPlan(),
		"HOMEBOY_AGENT_TOOL_POLICY_JSON":          policy,
	} {
		text, err := canonical(doc)
		if err != nil {
			return nil, invalid(CodeRequestInvalid, err, "")
		}
		if len(text) <= maxVariable {
			more[name] = string(text)
		}
	}
	if p.links != "" {
		more["PATH"] = agent["PATH"].Value + ":" + p.links
	}
	maps.Copy(more, noPush)
	if j.Sandbox.Contained() {
		more["DEED_CONTAINED"] = "1" // an agent's own guards could not be built in here: see package selfprovider
	}
	out := agent.With(more)
	delete(out, "DEED_RESULT_FILE") // its answer is on standard output
	for name := range j.Secrets {   // no declared value replaces them
		out[name] = agent[name]
	}
	return out, nil
}
