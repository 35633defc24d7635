package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/deedrun/deed/internal/base/home"
	"github.com/deedrun/deed/internal/web/httperror"
)

// schemaReload is the id of what `deed reload --json` writes.
const schemaReload = "deed/reload/v1"

// reloaded is what came of a reload.
type reloaded struct {
	Schema  string   `json:"schema"`
	Files   []string `json:"files"`             // of the settings, lowest precedence first
	Restart []string `json:"restart,omitempty"` // settings that were changed and take effect at the next start
}

func (a *app) reloadCmd() *cobra.Command {
	return &cobra.Command{
		Use: "reload", Short: "Have the running deed serve take over deed.yaml", Args: cobra.NoArgs,
		Long: `Ask the running "deed serve" of this home to read its settings again, and wait until it has. SIGHUP asks for the same, as
"systemctl reload deed" does. Settings that cannot be used change nothing: they are named, and the old ones stay in force.
Attempts that run keep the settings that they were started with. What needs a restart is named in docs/OPERATING.md.`,
		RunE: func(c *cobra.Command, _ []string) error {
			root, err := home.Resolve(a.homeFlag, a.getenv)
			if err != nil {
				return usage(err)
			}
			var done reloaded
			if err := callServer(c.Context(), home.At(root), "/reload", struct{}{}, &done); err != nil {
				return err
			}
			if a.json {
				return a.emit(done)
			}
			from := "its defaults: there is no file of settings"
			if len(done.Files) > 0 {
				from = strings.Join(done.Files, ", ")
			}
			a.printf("deed serve works with %s\n", clean(from))
			for _, name := range done.Restart {
				a.hint("%s takes effect when deed serve is started anew", clean(name))
			}
			return nil
		},
	}
}

// An order to reload, with where the answer goes.
type order chan<- answered

type answered struct {
	reloaded
	err error
}

// answerReload is the route of `deed reload`.
func (h *host) answerReload(w http.ResponseWriter, r *http.Request) {
	answer := make(chan answered, 1)
	ends := httperror.New(http.StatusConflict, "draining", errEnds.Error())
	select {
	case h.asks <- answer:
	case <-h.ended:
		httperror.Write(w, r, ends)
		return
	case <-r.Context().Done():
		return
	}
	select {
	case t := <-answer:
		if errors.Is(t.err, errEnds) {
			httperror.Write(w, r, ends)
			return
		}
		if t.err != nil {
			httperror.Write(w, r, httperror.New(http.StatusUnprocessableEntity, "settings_refused", fmt.Sprintf("%v; the old settings stay in force", t.err)))
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(t.reloaded)
	case <-h.ended:
		httperror.Write(w, r, ends)
	case <-r.Context().Done():
	}
}
