package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/web/access"
)

func (a *app) tokenCmd() *cobra.Command {
	return group("token", "Let programs in over HTTP: make, list and revoke tokens", a.tokenAddCmd(), a.tokenListCmd(), a.tokenRevokeCmd())
}

func (a *app) accessCmd() *cobra.Command {
	return group("access", "See who did what over HTTP, and who was refused", a.accessLogCmd())
}

func (a *app) keeper() *access.Keeper { return &access.Keeper{Store: a.st, Clock: clock.System} }

// noteAccess records a command about tokens in the same log as what is done over HTTP.
func (a *app) noteAccess(ctx context.Context, action, target, note string) error {
	_, err := a.st.LogAccess(ctx, store.AccessEntry{
		At: clock.System(), Name: a.operator(), Role: access.Admin.String(), How: string(access.ByCommand), Remote: "local", Action: action, Target: target, Status: http.StatusOK, Note: note,
	})
	return err
}

func (a *app) tokenAddCmd() *cobra.Command {
	var role, expires string
	c := &cobra.Command{
		Use: "add NAME", Short: "Make a token and print it, once", Args: names("NAME"),
		Long: `Make a token for a program that talks to "deed serve" and print it. deed keeps a hash only: a token that is lost is replaced by
another. It is sent as "Authorization: Bearer TOKEN".`,
		Example: `  deed token add ci --role operate --expires 30d
  deed token add dashboard --role read`,
		RunE: func(c *cobra.Command, args []string) error {
			r, rerr := access.ParseRole(role)
			if rerr != nil {
				rerr = fmt.Errorf("--role: %w", rerr)
			}
			life, lerr := lifetime(expires)
			if err := errors.Join(access.CheckName(args[0]), rerr, lerr); err != nil {
				return usage(err)
			}
			if err := a.open(c.Context()); err != nil {
				return err
			}
			text, cred, err := a.keeper().IssueToken(c.Context(), args[0], r, life, a.operator())
			if errors.Is(err, store.ErrExists) {
				return usage(fmt.Errorf("there is a token %q already (choose another name, or `deed token revoke %s` first)", args[0], args[0]))
			}
			if err != nil {
				return err
			}
			if err := a.noteAccess(c.Context(), "token add", cred.ID, cred.Name+" with the role "+cred.Role); err != nil {
				return err
			}
			if a.json {
				doc := access.Show(cred, clock.System())
				doc.Token = text
				return a.emit(doc)
			}
			a.printf("%s\n", text)
			a.hint("this is the only time that the token %s (%s, role %s) is shown", cred.Name, cred.ID, cred.Role)
			return nil
		},
	}
	c.Flags().StringVar(&role, "role", "", "what it may do: read, operate or admin")
	c.Flags().StringVar(&expires, "expires", "", "`TIME` until it ends: 12h, 30d (default: never)")
	return c
}

// lifetime reads a time with days; empty means for ever.
func lifetime(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if days, ok := strings.CutSuffix(text, "d"); ok {
		var n uint64
		n, err = strconv.ParseUint(days, 10, 16)
		d = time.Duration(n) * 24 * time.Hour
	}
	if err != nil || d < time.Second || d > access.MaxLife {
		return 0, fmt.Errorf("--expires %q is no time between a second and ten years, such as 12h or 30d", text)
	}
	return d, nil
}

// maxListed bounds what one list shows.
const maxListed = 1000

func (a *app) tokenListCmd() *cobra.Command {
	var all, sessions bool
	c := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List tokens with their roles and when they were last used", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := a.view(c.Context()); err != nil {
				return err
			}
			kind := store.CredentialToken
			if sessions {
				kind = store.CredentialSession
			}
			list, err := a.st.Credentials(c.Context(), kind, maxListed)
			if err != nil {
				return err
			}
			docs := []access.Shown{}
			for _, cred := range list {
				if d := access.Show(cred, clock.System()); all || d.State == "live" {
					docs = append(docs, d)
				}
			}
			if a.json {
				return a.emit(map[string]any{"schema": "deed/tokens/v1", "tokens": docs})
			}
			if len(docs) == 0 {
				a.hint("there is none")
				return nil
			}
			rows := make([][]string, len(docs))
			for i, d := range docs {
				rows[i] = []string{d.ID, clean(d.Name), d.Role, d.State, dash(string(d.ExpiresAt)), dash(string(d.UsedAt))}
			}
			a.table([]string{"ID", "NAME", "ROLE", "STATE", "EXPIRES", "LAST USED"}, rows)
			return nil
		},
	}
	c.Flags().BoolVar(&all, "all", false, "revoked and expired ones too")
	c.Flags().BoolVar(&sessions, "sessions", false, "browsers that are logged in, instead of tokens")
	return c
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func (a *app) tokenRevokeCmd() *cobra.Command {
	return &cobra.Command{
		Use: "revoke NAME|ID", Short: "End a token, or a browser's session, at once", Args: names("NAME|ID"),
		Long: `End a token by its name or id, or the session of a browser by its id. Its next request is refused, also by a server that runs
already, and its open event streams end within seconds.`,
		RunE: func(c *cobra.Command, args []string) error {
			if err := a.view(c.Context()); err != nil {
				return err
			}
			cred, err := a.keeper().Revoke(c.Context(), args[0], a.operator())
			if errors.Is(err, store.ErrNotFound) {
				return usage(fmt.Errorf("there is no token or session %q (`deed token list --all` has the tokens, `--sessions` the sessions)", args[0]))
			}
			if err != nil {
				return refused(err)
			}
			if err := a.noteAccess(c.Context(), "token revoke", cred.ID, cred.Kind+" "+cred.Name); err != nil {
				return err
			}
			if a.json {
				if cred, err = a.st.Credential(c.Context(), cred.ID); err != nil {
					return err
				}
				return a.emit(access.Show(cred, clock.System()))
			}
			a.printf("revoked %s %s (%s)\n", cred.Kind, clean(cred.Name), cred.ID)
			return nil
		},
	}
}

// accessDoc is one entry of the log as --json shows it.
type accessDoc struct {
	Seq     int64  `json:"seq"`
	At      string `json:"at"`
	Name    string `json:"name,omitempty"`
	Role    string `json:"role"`
	How     string `json:"how,omitempty"`
	Remote  string `json:"remote"`
	Action  string `json:"action"`
	Target  string `json:"target,omitempty"`
	Status  int    `json:"status"`
	Note    string `json:"note,omitempty"`
	Times   int    `json:"times"`
	Refused bool   `json:"refused"`
}

func (a *app) accessLogCmd() *cobra.Command {
	var f store.AccessFilter
	c := &cobra.Command{
		Use: "log", Short: "Show who did what over HTTP, and who was refused, newest first", Args: cobra.NoArgs,
		Long: `Show every write over HTTP, every login and command about tokens, and the requests that were refused: who, from where, by which
way, with which result. Refusals that are alike are counted in one row. A write without a status was cut short by a crash.`,
		Example: `  deed access log --limit 20
  deed access log --refused
  deed access log --name ci`,
		RunE: func(c *cobra.Command, _ []string) error {
			if f.Limit < 1 || f.Limit > 10000 {
				return usage(fmt.Errorf("--limit %d is not between 1 and 10000", f.Limit))
			}
			if err := a.view(c.Context()); err != nil {
				return err
			}
			list, err := a.st.AccessLog(c.Context(), f)
			if err != nil {
				return err
			}
			return a.showAccess(list)
		},
	}
	c.Flags().IntVar(&f.Limit, "limit", 100, "rows to show")
	c.Flags().Int64Var(&f.Before, "before", 0, "only rows with a smaller `NUMBER`")
	c.Flags().StringVar(&f.Name, "name", "", "only what `WHO` did")
	c.Flags().BoolVar(&f.Refused, "refused", false, "only what was refused")
	return c
}

func (a *app) showAccess(list []store.AccessEntry) error {
	docs, rows := make([]accessDoc, len(list)), make([][]string, len(list))
	for i, e := range list {
		d := accessDoc{
			Seq: e.Seq, At: string(agentruntime.At(e.At)), Name: e.Name, Role: e.Role, How: e.How, Remote: e.Remote, Action: e.Action, Target: e.Target,
			Status: e.Status, Note: e.Note, Times: e.Times, Refused: e.Refused,
		}
		docs[i] = d
		status := strconv.Itoa(d.Status)
		if d.Status == 0 {
			status = "?"
		}
		if d.Times > 1 {
			status += fmt.Sprintf(" ×%d", d.Times)
		}
		rows[i] = []string{strconv.FormatInt(d.Seq, 10), d.At, dash(clean(d.Name)), dash(d.How), clean(d.Remote), status, clean(d.Action), shorten(clean(d.Target+" "+d.Note), 80)}
	}
	if a.json {
		return a.emit(map[string]any{"schema": "deed/access.log/v1", "entries": docs})
	}
	if len(rows) == 0 {
		a.hint("nothing was done or refused")
		return nil
	}
	a.table([]string{"#", "AT", "WHO", "HOW", "FROM", "STATUS", "ACTION", "ABOUT"}, rows)
	return nil
}
