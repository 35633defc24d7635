package usage

import (
	"net/netip"
	"net/url"
	"strings"

	"github.com/deedrun/deed/contract/agentruntime"
)

// Local reports whether an adapter's model runs on a machine of the operator's: at an Ollama endpoint, or at a loopback
// address.
func Local(a agentruntime.AdapterConfig) bool {
	switch {
	case a.OllamaGenerate != nil:
		return true
	case a.Native != nil && a.Native.Provider.API == agentruntime.APIOllama:
		return true
	case a.Native != nil:
		return loopback(a.Native.Provider.BaseURL)
	case a.Codex != nil && a.Codex.Provider != nil:
		return loopback(a.Codex.Provider.BaseURL)
	case a.Opencode != nil && a.Opencode.Provider != nil:
		return loopback(a.Opencode.Provider.BaseURL)
	}
	for _, name := range []string{"ANTHROPIC_BASE_URL", "OPENAI_BASE_URL"} {
		if loopback(a.Common().Env[name]) {
			return true
		}
	}
	return false
}

func loopback(base string) bool {
	u, err := url.Parse(base)
	if err != nil {
		return false
	}
	host := strings.ToLower(u.Hostname())
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// blind reports whether an adapter's agent reports no usage to deed.
func blind(a agentruntime.AdapterConfig) bool {
	return a.Script != nil || a.Command != nil && (a.Command.Events == "" || a.Command.Events == agentruntime.EventsText)
}
