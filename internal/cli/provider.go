package cli

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/deedrun/deed/internal/compat/homeboy/selfprovider"
	"github.com/deedrun/deed/provider"
)

// providerCmd is the command of the packages that deed ships. It is for hosts, not for people.
func (a *app) providerCmd() *cobra.Command {
	c := &cobra.Command{
		Use: "provider NAME", Short: "Serve one request as the provider of a package that deed ships", Hidden: true, Args: names("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := os.Getwd()
			if err != nil {
				return err
			}
			std := provider.Stdio{Environ: a.environ, Dir: dir, In: a.In, Out: a.Out, Err: a.Err}
			if contract, err := cmd.Flags().GetBool("provider-contract"); err == nil && contract {
				std.Args = []string{provider.ContractFlag}
			}
			code, err := selfprovider.Serve(cmd.Context(), args[0], std)
			if err != nil {
				return usage(err)
			}
			if code != 0 {
				return errNotDone
			}
			return nil
		},
	}
	c.Flags().Bool("provider-contract", false, "print the declaration of the provider")
	return c
}
