package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/agent/runtimepkg"
	"github.com/deedrun/deed/internal/compat/homeboy/providertask"
)

func (a *app) runtimeExecCmd(rt *runtimeFlags) *cobra.Command {
	var f providerFlags
	var args, version, ref string
	var env, artifacts []string
	c := &cobra.Command{
		Use: "exec PACKAGE COMMAND_ID", Short: "Have a runtime package carry out one of its own commands, and answer with one outcome",
		Long: `Make a homeboy/runtime-command-request/v1 and run it like ` + "`deed runtime run`" + ` does. The package must have a provider that
declares runtime_command_execution. What is under --args reaches it as JSON in inputs.runtime_command, and no shell sees it.
A request in a file is for ` + "`deed runtime run`" + `.`,
		Example: `  deed runtime exec wp-codebox site.export --args '{"format": "zip"}' --workspace . --artifact export=out/export.zip
  deed runtime exec tools lint --args '["--fix", "src"]' --env LINT_TOKEN`,
		Args: names("PACKAGE", "COMMAND_ID"),
		RunE: func(c *cobra.Command, names []string) error {
			q := homeboy.RuntimeCommandRequest{
				Schema: homeboy.SchemaRuntimeCommand, RuntimePackage: homeboy.RuntimePackageRef{ID: names[0], Version: version, Ref: ref}, CommandID: names[1], EnvNames: env,
			}
			if err := f.command(&q, args, artifacts); err != nil {
				return usage(err)
			}
			return a.provide(c.Context(), *rt, &f, func(ctx context.Context, s *providertask.Service) (runtimepkg.Request, error) {
				return s.Command(ctx, q)
			})
		},
	}
	f.register(c)
	c.Flags().StringVar(&args, "args", "", "`JSON` for the command: an object or a list")
	c.Flags().StringArrayVar(&env, "env", nil, "`NAME` of a variable that the runtime may read; repeatable")
	c.Flags().StringArrayVar(&artifacts, "artifact", nil, "`NAME[=PATH]` that it must leave, the path below its workspace; repeatable")
	c.Flags().StringVar(&version, "package-version", "", "the version that the package must have")
	c.Flags().StringVar(&ref, "package-ref", "", "the revision that the package must be at")
	c.Flags().StringVar(&f.workspace, "workspace", "", "the `DIR` to work on a copy of")
	c.Flags().StringVar(&f.baseRef, "base-ref", "", "with a git workspace: this `COMMIT` instead of HEAD")
	return c
}

// command makes the rest of a runtime command from flags.
func (f *providerFlags) command(q *homeboy.RuntimeCommandRequest, args string, artifacts []string) error {
	id, err := uuid.NewV7()
	if err != nil {
		return err
	}
	q.TaskID = "exec-" + id.String()
	if f.backend != "" || f.selector != "" {
		return errors.New("--backend and --selector have no meaning here (the package's own provider runs its commands)")
	}
	if args != "" {
		if !json.Valid([]byte(args)) {
			return fmt.Errorf("--args is not JSON (write an object or a list, as in '{\"name\": \"value\"}')")
		}
		q.Args = homeboy.Value(args)
	}
	for _, text := range artifacts {
		name, path, _ := strings.Cut(text, "=")
		q.Artifacts = append(q.Artifacts, homeboy.ArtifactDeclaration{Name: name, Path: path, Required: true})
	}
	if f.workspace == "" {
		return nil
	}
	root, err := filepath.Abs(f.workspace)
	if err != nil {
		return err
	}
	q.Workspace = &homeboy.Workspace{Mode: homeboy.WorkspaceExisting, Root: root, BaseRef: f.baseRef}
	return nil
}
