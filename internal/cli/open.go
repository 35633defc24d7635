package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/deedrun/deed/internal/base/home"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/web/access"
	"github.com/deedrun/deed/internal/web/httperror"
	"github.com/deedrun/deed/internal/web/server"
)

// askServer is how long the server of this home may take to answer.
const askServer = 10 * time.Second

func (a *app) openCmd() *cobra.Command {
	var role, at, path string
	var browser bool
	c := &cobra.Command{
		Use: "open", Short: "Print a link that lets a browser in, once", Args: cobra.NoArgs,
		Long: `Ask the running "deed serve" of this home for a link that lets one browser in. The link works once, and for a minute. The browser
then stays logged in for 12 hours after its last request, and for 14 days at most.

Where the browser is on another machine, forward the port (ssh -L 7433:127.0.0.1:7433 HOST) and open the link there.`,
		Example: `  deed open
  deed open --role read --path /tasks
  deed open --browser`,
		RunE: func(c *cobra.Command, _ []string) error {
			r, err := access.ParseRole(role)
			if err != nil {
				return usage(fmt.Errorf("--role: %w", err))
			}
			link, err := a.loginLink(c.Context(), r, at, path)
			if err != nil {
				return err
			}
			return a.showLink(c.Context(), link, browser)
		},
	}
	c.Flags().StringVar(&role, "role", access.Operate.String(), "what the browser may do: read, operate or admin")
	c.Flags().StringVar(&at, "url", "", "address of the server as the browser sees it (default: where it listens)")
	c.Flags().StringVar(&path, "path", "", "page to open")
	c.Flags().BoolVar(&browser, "browser", false, "open the link in this machine's browser; other accounts may see it in the list of processes for a moment")
	return c
}

// loginLink asks the server for a one-time code and makes a link of it.
func (a *app) loginLink(ctx context.Context, role access.Role, at, path string) (string, error) {
	root, err := home.Resolve(a.homeFlag, a.getenv)
	if err != nil {
		return "", usage(err)
	}
	h := home.At(root)
	where, err := server.Find(h)
	if err != nil {
		return "", err
	}
	if at == "" {
		at = where.URL
	}
	base, err := url.Parse(at)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" {
		if at == "" {
			err = errors.New("the server of this home listens on no address (start it with --listen)")
		} else {
			err = fmt.Errorf("--url %q is no address such as https://deed.example:7433", at)
		}
		return "", usage(err)
	}
	var code server.CodeAnswer
	if err := callServer(ctx, h, "/access/code", server.CodeRequest{Role: role}, &code); err != nil {
		return "", err
	}
	q := url.Values{"code": {code.Code}}
	if path != "" {
		q.Set("next", path)
	}
	return strings.TrimSuffix(base.Scheme+"://"+base.Host+base.Path, "/") + "/login?" + q.Encode(), nil
}

// callServer posts to the server of a home over its socket.
func callServer(ctx context.Context, h *home.Home, path string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, askServer)
	defer cancel()
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://deed"+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	client := server.Client(h)
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		if errors.Is(err, server.ErrNoServer) {
			return server.ErrNoServer
		}
		return fmt.Errorf("ask the server: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return fmt.Errorf("ask the server: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		var p httperror.Problem
		if json.Unmarshal(data, &p) == nil && p.Detail != "" {
			err := fmt.Errorf("the server refuses: %s", cleanLines(p.Detail))
			if resp.StatusCode == http.StatusUnprocessableEntity {
				return usage(err)
			}
			return err
		}
		return fmt.Errorf("the server answers with status %d", resp.StatusCode)
	}
	return json.Unmarshal(data, out)
}

func (a *app) showLink(ctx context.Context, link string, browser bool) error {
	if a.json {
		return a.emit(map[string]any{"schema": "deed/login.link/v1", "url": link, "expires_in_seconds": int(access.CodeLife.Seconds())})
	}
	a.printf("%s\n", link)
	a.hint("the link works once, within a minute")
	if !browser {
		return nil
	}
	tool := "xdg-open"
	if runtime.GOOS == "darwin" {
		tool = "open"
	}
	ctx, cancel := context.WithTimeout(ctx, askServer)
	defer cancel()
	res, err := proc.Tool(ctx, proc.ToolSpec{Argv: []string{tool, link}, Env: a.environ})
	if err == nil {
		err = res.Check()
	}
	if err != nil {
		return fmt.Errorf("open a browser: %w (open the link above yourself)", err)
	}
	return nil
}
