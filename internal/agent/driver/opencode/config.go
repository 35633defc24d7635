package opencode

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver/agentcli"
	"github.com/deedrun/deed/internal/base/failure"
)

// The packages that are built into opencode, by the interface of the model. Any other would be fetched.
var builtIn = map[string]string{
	"chat":      "@ai-sdk/openai-compatible",
	"responses": "@ai-sdk/openai",
	"anthropic": "@ai-sdk/anthropic",
}

// switchedOff keeps opencode from the network and from files that are not the attempt's: the list of models, updates,
// packages, language servers, plugins, and the configuration that lies in the workspace, which the agent itself can write.
var switchedOff = map[string]string{
	"OPENCODE_DISABLE_MODELS_FETCH":    "1",
	"OPENCODE_DISABLE_AUTOUPDATE":      "1",
	"OPENCODE_DISABLE_LSP_DOWNLOAD":    "1",
	"OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
	"OPENCODE_DISABLE_PROJECT_CONFIG":  "1",
	"OPENCODE_DISABLE_EXTERNAL_SKILLS": "1",
	"OPENCODE_DISABLE_SHARE":           "1",
	"OPENCODE_DISABLE_EMBEDDED_WEB_UI": "1",
	"OPENCODE_DISABLE_TERMINAL_TITLE":  "1",
	"OPENCODE_DISABLE_CLAUDE_CODE":     "1",
	"npm_config_offline":               "true",
}

// xdg are the directories below opencode's home.
var xdg = map[string]string{
	"XDG_CONFIG_HOME": "config", "XDG_DATA_HOME": "data", "XDG_STATE_HOME": "state", "XDG_CACHE_HOME": "cache",
}

// A config is the part of opencode's configuration that deed sets. Everything in it stands above what files say.
type config struct {
	AutoUpdate bool                `json:"autoupdate"`
	Share      string              `json:"share"`
	Snapshot   bool                `json:"snapshot"`
	LSP        bool                `json:"lsp"`
	Formatter  bool                `json:"formatter"`
	Enabled    []string            `json:"enabled_providers,omitempty"`
	Provider   map[string]provider `json:"provider,omitempty"`
	Permission permissions         `json:"permission"`
}

type provider struct {
	NPM     string              `json:"npm,omitempty"`
	Name    string              `json:"name,omitempty"`
	Options providerOptions     `json:"options,omitzero"`
	Models  map[string]struct{} `json:"models"`
}

type providerOptions struct {
	BaseURL string `json:"baseURL,omitempty"`
	APIKey  string `json:"apiKey,omitempty"` // names a variable, so that no key is written anywhere
}

// modelName returns the model as opencode names it, with the provider and the model apart.
func modelName(a *agentruntime.OpencodeAdapter, asked string) (providerID, model string, err error) {
	if asked == "" {
		asked = a.Model
	}
	bad := func(format string, args ...any) (string, string, error) {
		return "", "", failure.New(failure.Config, "name the model", fmt.Errorf(format, args...), "set model to provider/model, or set provider and model")
	}
	if asked == "" {
		return bad("opencode adapter %q has no model, and opencode would choose one by itself", a.AdapterID)
	}
	providerID, model, ok := strings.Cut(asked, "/")
	if p := a.Provider; p != nil {
		if !ok || providerID != p.ID { // a model's own name may have slashes
			providerID, model = p.ID, asked
		}
		return providerID, model, nil
	}
	if !ok || providerID == "" || model == "" {
		return bad("model %q does not say whose it is", asked)
	}
	return providerID, model, nil
}

// configure makes the configuration of an attempt, and says how its rules are held.
func configure(p agentcli.Plan, providerID, model string) ([]byte, []ruling, error) {
	j, a := p.Job, p.Job.Adapter.Opencode
	workspace := j.Inside(j.Dirs.Workspace)
	table, rulings := permit(j.Rules, p.Posture.Sandbox, workspace, outside(p))
	c := config{Share: "disabled", Enabled: []string{providerID}, Permission: table}
	if own := a.Provider; own != nil {
		c.Provider = map[string]provider{own.ID: providerOf(*own, model)}
	}
	text, err := json.Marshal(c)
	if err != nil {
		return nil, nil, failure.New(failure.Infra, "write opencode's configuration", err, "")
	}
	return text, rulings, nil
}

func providerOf(p agentruntime.OpencodeProvider, model string) provider {
	out := provider{Name: p.Name, Options: providerOptions{BaseURL: p.BaseURL}, Models: map[string]struct{}{model: {}}}
	if p.API != "" {
		out.NPM = builtIn[p.API]
	} else if p.BaseURL != "" {
		out.NPM = builtIn["chat"]
	}
	if p.KeyEnv != "" {
		out.Options.APIKey = "{env:" + p.KeyEnv + "}"
	}
	return out
}

// outside lists the directories besides the workspace that the agent may use by their names. Where its own guards are
// lifted these are all.
func outside(p agentcli.Plan) []string {
	if p.Posture.Lifted {
		return []string{"*"}
	}
	j := p.Job
	var out []string
	for _, dir := range []string{j.Dirs.Exchange, j.Dirs.Artifacts, j.Dirs.Tmp, j.Dirs.Home} {
		out = append(out, j.Inside(dir)+"/*")
	}
	return out
}

// onlyOptions refuses arguments that opencode would take for a part of the prompt.
func onlyOptions(args []string) error {
	for i, arg := range args {
		valued := i > 0 && slices.Contains([]string{"--agent", "--variant"}, args[i-1])
		if !valued && !strings.HasPrefix(arg, "-") {
			return failure.New(failure.Config, "read extra_args", fmt.Errorf("opencode would take %q for a part of the prompt", arg), "take it out, or write --option=value")
		}
	}
	return nil
}
