package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/deedrun/deed/contract/codebox"
	"github.com/deedrun/deed/contract/schema"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/home"
	"github.com/deedrun/deed/internal/compat/codebox/runnerworkspace"
	"github.com/deedrun/deed/internal/isolate/redact"
)

func (a *app) workspaceCmd() *cobra.Command {
	return group("workspace", "Capture, run a command in, and publish a runner's workspace",
		operation(a, "capture", "Say what is checked out in a workspace and what differs",
			codebox.SchemaCaptureRequest, (*runnerworkspace.Runner).Capture, (*runnerworkspace.Runner).InvalidCapture,
			func(r codebox.CaptureResult) string { return r.FailureType }),
		operation(a, "command", "Run one bounded command in a workspace, in a namespace unless the request asks for less",
			codebox.SchemaCommandRequest, (*runnerworkspace.Runner).Command, (*runnerworkspace.Runner).InvalidCommand,
			func(r codebox.CommandResult) string { return r.FailureType }),
		operation(a, "publish", "Publish the change of a workspace as a branch, and ask for a pull request",
			codebox.SchemaPublicationRequest, (*runnerworkspace.Runner).Publish, (*runnerworkspace.Runner).InvalidPublication,
			func(r codebox.PublicationResult) string { return r.FailureType }))
}

// operation makes a command that reads one request and writes one result, whatever happens: exit code 0 for success, 1
// for a failure, 2 for a request that is not one or that names what is not there, 130 when a signal ended it.
func operation[Req, Res any](
	a *app, name, short, id string, do func(*runnerworkspace.Runner, context.Context, Req) Res,
	invalid func(*runnerworkspace.Runner, error) Res, failed func(Res) string,
) *cobra.Command {
	var input string
	c := &cobra.Command{
		Use: name + " --input-file FILE", Short: short, Args: cobra.NoArgs,
		Long: short + ".\n\nThe request is a " + id + ",\nwhose schema `deed schema show` prints. Standard output has exactly one JSON result, also when the request cannot be\nread. Exit code 0 means success, 1 failure, 2 that the request is not one\nor names what is not there, 130 that a signal ended it.",
		RunE: func(c *cobra.Command, _ []string) error {
			if input == "" {
				return usage(errors.New("--input-file is missing (- reads standard input)"))
			}
			root, err := home.Resolve(a.homeFlag, a.getenv)
			if err != nil {
				return usage(err)
			}
			r := &runnerworkspace.Runner{Home: home.At(root), Clock: clock.System, Environ: a.environ, Redact: redact.New(redact.Secrets(a.environ))}
			data, err := a.readFile(c.Context(), input)
			var req Req
			if err == nil {
				req, err = schema.Decode[Req](id, data)
			}
			if err == nil {
				r.PullRequest, err = a.pullRequestHook()
			}
			if err != nil {
				if eerr := a.emit(invalid(r, err)); eerr != nil {
					return eerr
				}
				return &exitError{code: ExitUsage, err: errSilent}
			}
			res := do(r, c.Context(), req)
			if err := a.emit(res); err != nil {
				return err
			}
			switch failed(res) {
			case "":
				return nil
			case codebox.FailureInvalidRequest: // as a look at the workspace showed
				return &exitError{code: ExitUsage, err: errSilent}
			case codebox.FailureCancelled:
				return &exitError{code: ExitInterrupted, err: errSilent}
			}
			return errNotDone
		},
	}
	c.Flags().StringVar(&input, "input-file", "", "file with the request, - for standard input")
	return c
}

// pullRequestHook is the configured command that opens pull requests; none is not an error.
func (a *app) pullRequestHook() ([]string, error) {
	cfg, err := a.config()
	if err != nil {
		return nil, err
	}
	return cfg.PullRequest, nil
}
