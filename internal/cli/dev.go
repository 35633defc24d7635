package cli

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/deedrun/deed/internal/agent/model/scripted"
	"github.com/deedrun/deed/internal/base/terminal"
)

// devCmd holds what is for trying deed without a model. It is not in the short help: it is not needed to use deed.
func (a *app) devCmd() *cobra.Command {
	c := group("dev", "For trying deed without a model", a.modelServerCmd())
	c.Hidden = true
	return c
}

func (a *app) modelServerCmd() *cobra.Command {
	var script, addr string
	c := &cobra.Command{
		Use: "model-server", Short: "Serve a model that does what a script says", Args: cobra.NoArgs,
		Long: `Serve a model that does what a script says, on loopback, until SIGTERM or Ctrl-C. It speaks OpenAI's Responses and
Chat Completions, Anthropic's Messages and Ollama's chat and generate; any key is taken. Each scenario of the script has base
URLs of its own, which are printed. docs/MODEL-SCRIPTS.md says how scripts are written.`,
		Example: `  deed dev model-server --script demo
  deed dev model-server --script my-script.yaml --addr 127.0.0.1:8080 --json`,
		RunE: func(c *cobra.Command, _ []string) error {
			if script == "" {
				return usage(errors.New("--script is missing (give a file, or demo for the script that deed ships)"))
			}
			s, err := scripted.Load(script)
			if err != nil {
				return usage(err)
			}
			server := scripted.New(s)
			base, err := server.Start(addr)
			if err != nil {
				return usage(err)
			}
			if err := a.showServer(server, base); err != nil {
				return errors.Join(err, server.Close())
			}
			<-c.Context().Done()
			return server.Close()
		},
	}
	c.Flags().StringVar(&script, "script", "", "`FILE` with the script, YAML or JSON; demo: the one that deed ships")
	c.Flags().StringVar(&addr, "addr", "127.0.0.1:0", "loopback `ADDRESS`; port 0: any that is free")
	return c
}

// modelServer is what the command prints, on one line.
type modelServer struct {
	Schema    string                   `json:"schema"`
	URL       string                   `json:"url"`
	Scenarios map[string]modelBaseURLs `json:"scenarios"`
}

// modelBaseURLs are the base URLs of a scenario as the SDKs of each interface take them.
type modelBaseURLs struct {
	OpenAI    string `json:"openai"`
	Anthropic string `json:"anthropic"`
	Ollama    string `json:"ollama"`
}

func (a *app) showServer(server *scripted.Server, base string) error {
	if !a.json {
		rows := [][]string{}
		for _, name := range server.Scenarios() {
			rows = append(rows, []string{name, server.URL(name) + "/v1", server.URL(name)})
		}
		a.table([]string{"SCENARIO", "OPENAI", "ANTHROPIC, OLLAMA"}, rows)
		a.hint("serving until SIGTERM or Ctrl-C")
		return nil
	}
	doc := modelServer{Schema: "deed/model-server/v1", URL: base, Scenarios: map[string]modelBaseURLs{}}
	for _, name := range server.Scenarios() {
		doc.Scenarios[name] = modelBaseURLs{OpenAI: server.URL(name) + "/v1", Anthropic: server.URL(name), Ollama: server.URL(name)}
	}
	line, err := json.Marshal(doc)
	if err != nil {
		return fmt.Errorf("encode output: %w", err)
	}
	_, err = fmt.Fprintf(a.Out, "%s\n", terminal.SafeJSON(line))
	return err
}
