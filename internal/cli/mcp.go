package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/engine/feed"
	"github.com/deedrun/deed/internal/engine/task"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/web/access"
	"github.com/deedrun/deed/internal/web/mcpserver"
)

func (a *app) mcpCmd() *cobra.Command {
	var role string
	c := &cobra.Command{
		Use: "mcp", Short: "Give a model tools on this home over the Model Context Protocol, on standard input and output", Args: cobra.NoArgs,
		Long: `Serve the Model Context Protocol on standard input and output: tools to look at tasks, wait for them, read their evidence and verify
it, and with --role operate to add tasks and to answer what waits for a person. The default is read: whoever speaks through it
is a model that reads what agents wrote, and what it may change is yours to grant. An agent that deed runs gets no more than
read, whatever is asked for.`,
		Example: "  claude mcp add deed -- deed mcp\n  deed mcp --role operate",
		RunE: func(c *cobra.Command, _ []string) error {
			r, err := access.ParseRole(role)
			if err != nil {
				return usage(fmt.Errorf("--role: %w", err))
			}
			if r > access.Read && a.getenv("DEED_ATTEMPT_ID") != "" {
				return usage(errors.New("--role " + role + " is refused inside an attempt: an agent must not answer for the person who watches it (use --role read)"))
			}
			if err := a.view(c.Context()); err != nil {
				return err
			}
			return a.mcp(c.Context(), access.Principal{Name: a.operator(), Role: r, How: access.ByCommand})
		},
	}
	c.Flags().StringVar(&role, "role", "read", "what the model may do: `read`, operate or admin")
	return c
}

func (a *app) mcp(ctx context.Context, who access.Principal) error {
	f := feed.New(a.st, a.h, slog.New(slog.DiscardHandler))
	ctx, stop := context.WithCancel(ctx)
	var owned sync.WaitGroup
	defer owned.Wait()
	defer stop()
	owned.Go(func() { _ = f.Run(ctx) }) // task_wait looks by itself when its time is over
	o, err := a.mcpOptions(f)
	if err != nil {
		return err
	}
	err = mcpserver.Serve(ctx, o, who, &mcp.IOTransport{Reader: io.NopCloser(a.In), Writer: openWriter{a.Out}})
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// mcpOptions is what the tools of MCP need.
func (a *app) mcpOptions(f *feed.Feed) (mcpserver.Options, error) {
	d, err := a.desk()
	if err != nil {
		return mcpserver.Options{}, err
	}
	return mcpserver.Options{
		Store: a.st, Views: a.models(), Desk: d, Feed: f, Keys: a.trusted, Version: Version(), Remote: "local",
		Add: func(ctx context.Context, who access.Principal, in agentruntime.TaskIntent) (store.Enqueued, error) {
			if err := task.RefuseSecrets(in, a.getenv); err != nil {
				return store.Enqueued{}, err
			}
			out, err := a.admission().Add(ctx, task.Caller{Trusted: who.How == access.BySocket || who.May(access.Admin)}, in) // as the API does
			if err != nil {
				return store.Enqueued{}, err
			}
			a.h.Wake()
			return out[0], nil
		},
	}, nil
}

// An openWriter stays open for what is written after the protocol.
type openWriter struct{ io.Writer }

// Close does nothing.
func (openWriter) Close() error { return nil }
