package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/deedrun/deed/contract/codebox"
	"github.com/deedrun/deed/contract/schema"
	"github.com/deedrun/deed/internal/compat/codebox/abilityrun"
)

func (a *app) abilityRunCmd() *cobra.Command {
	var input, result string
	c := &cobra.Command{
		Use:     "generic-ability-runtime-run --input-file=FILE",
		Aliases: []string{"ability-run"},
		Short:   "Invoke one ability of a runtime component in a disposable runtime",
		Long: `Read one wp-codebox/generic-ability-runtime-run-request/v1, make a runtime of its components in a namespace without a
network, invoke the ability, and hold its result against the expected schema. With --json one
wp-codebox/generic-ability-runtime-run-result/v1 is written to standard output, whatever happens: also for a request
that is refused, and when the run is interrupted; --result-file has the same. Without it there are words for a person,
with the beginning of what the ability gave.

A component offers abilities in its deed-abilities.json. The capability token is named by capability_token_env and
taken from the environment of this command. With artifacts_path, which must be empty or absent, a signed bundle is
left there; the run's record is in deed's registry either way (deed runs show ID).
Exit code 0 means that the ability gave a result of the expected shape.`,
		Example: `  deed ability-run --input-file=request.json --json
  deed schema show wp-codebox/generic-ability-runtime-run-request/v1`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if input == "" {
				return usage(errors.New("--input-file is missing (name a file with one JSON request, or - for standard input)"))
			}
			return a.abilityRun(c.Context(), input, result)
		},
	}
	c.Flags().StringVar(&input, "input-file", "", "`FILE` with the request; - for standard input")
	c.Flags().StringVar(&result, "result-file", "", "write the result to this `FILE` too: atomically, readable by you only")
	return c
}

// abilityRun answers a request. From here on standard output carries one result and nothing else, or without --json words for a person.
func (a *app) abilityRun(ctx context.Context, input, file string) error {
	res, code := a.invoke(ctx, input, &file)
	return a.oneDocument(res, file, code, func() {
		a.printf("%s: %s\n", res.Status, clean(res.Ability))
		a.showResult(json.RawMessage(res.Result))
		if res.Error != nil {
			fmt.Fprintf(a.Err, "  %s %s\n", clean(res.FailureType), clean(res.Error.Message))
		}
		if res.Artifacts != "" {
			a.field("bundle", res.Artifacts)
		}
	})
}

// maxShownResult bounds what a person is shown of what an ability gave.
const maxShownResult = 2000

// showResult shows a person what an ability gave: on one line, from its beginning.
func (a *app) showResult(result json.RawMessage) {
	var text bytes.Buffer
	if len(result) == 0 || json.Compact(&text, result) != nil {
		return
	}
	shown := shorten(clean(text.String()), maxShownResult)
	a.field("result", shown)
	if shown != clean(text.String()) {
		a.hint("all of it:  the same command with --json, or --result-file=FILE")
	}
}

// invoke makes the result of a request. A fault in deed itself is reported like every other failure.
func (a *app) invoke(ctx context.Context, input string, file *string) (res codebox.AbilityRunResult, code int) {
	var data []byte
	refused := func(err error, code int) (codebox.AbilityRunResult, int) {
		kind := codebox.FailureInvalidRequest
		if code != ExitUsage {
			kind = codebox.FailureBackendError
		}
		return abilityrun.Refusal(data, kind, err), code
	}
	defer func() {
		if p := recover(); p != nil {
			res, code = refused(fmt.Errorf("panic: %v (this is a fault in deed: please report it)", p), ExitInfra)
		}
	}()
	if err := distinct(fileFlag{"--input-file", input}, fileFlag{"--result-file", *file}); err != nil {
		*file = "" // nothing is written
		return refused(err, ExitUsage)
	}
	if err := checkResult(*file); err != nil {
		return refused(fmt.Errorf("--result-file: %w", err), ExitUsage)
	}
	data, err := a.readInput(ctx, input)
	switch {
	case ctx.Err() != nil:
		return refused(ctx.Err(), ExitInterrupted)
	case err != nil:
		return refused(err, ExitUsage)
	}
	req, err := schema.Decode[codebox.AbilityRunRequest](codebox.SchemaAbilityRunRequest, data)
	if err == nil {
		err = keepApart(file, req.ArtifactsPath)
	}
	if err != nil {
		return refused(err, ExitUsage)
	}
	if err := a.open(ctx); err != nil {
		return refused(err, exitCode(err))
	}
	eng, err := a.engine(1)
	if err != nil {
		return refused(err, ExitInfra)
	}
	return (&abilityrun.Service{Engine: eng}).Run(ctx, req)
}
