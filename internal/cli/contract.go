package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/deedrun/deed/contract/codebox"
	"github.com/deedrun/deed/contract/schema"
)

func (a *app) contractCmd() *cobra.Command {
	provider := &cobra.Command{
		Use: "provider-runtime", Short: "Print the names of the provider runtime's operations and the schemas of their results", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			c := codebox.ProviderRuntime()
			if a.json {
				return a.emit(c)
			}
			s := c.ResultSchemas
			a.table([]string{"COMMAND", "TASK", "ABILITY", "RESULT"}, [][]string{
				{"deed workspace capture", c.Tasks.WorkspaceCapture, c.Abilities.WorkspaceCapture, s.WorkspaceCapture},
				{"deed workspace command", c.Tasks.WorkspaceCommand, c.Abilities.WorkspaceCommand, s.WorkspaceCommand},
				{"deed workspace publish", c.Tasks.WorkspacePublish, c.Abilities.WorkspacePublish, s.WorkspacePublication},
				{"deed artifacts record-tool-calls", c.Tasks.ToolCallTranscriptRecord, c.Abilities.ToolCallTranscriptRecord, s.ToolCallTranscript},
				{"deed artifacts handoff", c.Tasks.ArtifactHandoff, c.Abilities.ArtifactHandoff, s.EvidenceArtifactEnvelope},
			})
			return nil
		},
	}
	var format string
	core := &cobra.Command{
		Use: "contract --format json", Short: "Print the contracts that deed speaks", Args: cobra.NoArgs,
		Long: "Print the contract between hosts and runtime packages: schema ids, the members of every record, vocabularies and\nhow they map onto each other. It is made from the code, with sorted keys, so that the same contract is the same bytes.",
		RunE: func(*cobra.Command, []string) error {
			if format == "" && a.json {
				format = "json"
			}
			if format != "json" {
				return usage(fmt.Errorf("--format is %q; the only format is json (`deed contract --format json`)", format))
			}
			text, err := schema.CoreContract()
			if err != nil {
				return err
			}
			_, err = a.Out.Write(text)
			return err
		},
	}
	core.Flags().StringVar(&format, "format", "", "json")
	core.AddCommand(provider)
	return core
}
