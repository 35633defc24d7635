package cli

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/deedrun/deed/internal/access"
	"github.com/deedrun/deed/internal/dispatch"
	"github.com/deedrun/deed/internal/server"
)

// defaultListen is where deed serve answers unless it is told otherwise.
const defaultListen = "127.0.0.1:7433"

// lastAnswers is how long requests that are under way may take when the server ends.
const lastAnswers = 5 * time.Second

// windowFlags say how the HTTP server of deed serve listens.
type windowFlags struct {
	listen string
}

func (f *windowFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.listen, "listen", "", "`ADDRESS` of the HTTP server, or off (default $DEED_LISTEN, else "+defaultListen+")")
}

// openWindow starts the HTTP server beside a dispatcher.
func (a *app) openWindow(ctx context.Context, eng *dispatch.Engine, f windowFlags) (*server.Server, error) {
	o := server.Options{Home: a.h, Store: a.st, Log: eng.Log}
	if o.Listen = cmp.Or(f.listen, a.getenv("DEED_LISTEN"), defaultListen); o.Listen == "off" {
		o.Listen = ""
	}
	s, err := server.New(o)
	if err != nil {
		return nil, err
	}
	if h := a.tele.Handler(); h != nil {
		s.Handle(access.Route{Pattern: "GET /metrics", Need: access.Read, Handler: h})
	}
	if err := s.Start(ctx); err != nil {
		return nil, fmt.Errorf("listen on %s: %w (choose another address with --listen, or --listen off)", o.Listen, err)
	}
	if at := s.Addr(); at != nil {
		eng.Log.Info("answering", "address", "http://"+at.String())
	}
	return s, nil
}

// closeWindow ends the HTTP server when the last attempt has ended: whoever watches a drain sees its end.
func (a *app) closeWindow(ctx context.Context, s *server.Server) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastAnswers)
	defer cancel()
	return s.Shutdown(ctx)
}
