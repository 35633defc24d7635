package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/deedrun/deed/internal/base/atomicfile"
	"github.com/deedrun/deed/internal/base/home"
	"github.com/deedrun/deed/internal/base/plainfile"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/base/systemd"
)

func (a *app) serviceCmd() *cobra.Command {
	var user bool
	c := group("service", "Run `deed serve` as a service of systemd", a.serviceInstallCmd(&user), a.serviceStatusCmd(&user), a.serviceUninstallCmd(&user))
	c.PersistentFlags().BoolVar(&user, "user", false, "the service of this user, not of the machine")
	return c
}

func (a *app) serviceInstallCmd(user *bool) *cobra.Command {
	var dry bool
	var as, secrets string
	var slots int
	c := &cobra.Command{
		Use: "install", Short: "Write a unit for this home; --dry-run prints it", Args: cobra.NoArgs,
		Long: `Write a unit that runs "deed serve" with this home: it notifies systemd when it is ready, is restarted when it ends with a
fault or hangs, and reads secrets from a file. The unit says for each setting why it is there. Nothing is started: the
commands that do are printed.`,
		Example: `  deed service install --user --dry-run
  sudo deed service install --as builder --home /var/lib/deed`,
		RunE: func(_ *cobra.Command, _ []string) error {
			if slots < 0 || slots > 1024 {
				return usage(fmt.Errorf("--concurrency %d is not between 0 and 1024", slots))
			}
			if as != "" && a.homeFlag == "" && a.getenv("DEED_HOME") == "" {
				return usage(fmt.Errorf("--as %s needs --home: the home of another account is not known here", as))
			}
			u, err := a.unit(*user, as, secrets, slots)
			if err != nil {
				return err
			}
			return a.installUnit(u, dry)
		},
	}
	c.Flags().BoolVar(&dry, "dry-run", false, "print the unit and write nothing")
	c.Flags().StringVar(&as, "as", "", "`ACCOUNT` that the service of the machine runs as")
	c.Flags().StringVar(&secrets, "secrets", "", "`FILE` with secrets (default secrets.env in deed's settings directory)")
	c.Flags().IntVar(&slots, "concurrency", 0, "attempts at a time (default: that of deed serve)")
	return c
}

// unit composes the unit of this home.
func (a *app) unit(user bool, as, secrets string, slots int) (systemd.Unit, error) {
	root, err := home.Resolve(a.homeFlag, a.getenv)
	if err != nil {
		return systemd.Unit{}, usage(err)
	}
	exe, err := os.Executable()
	if err != nil {
		return systemd.Unit{}, fmt.Errorf("find this binary: %w", err)
	}
	if secrets == "" {
		secrets = "/etc/deed/secrets.env"
		if user {
			dir, err := a.settingsDir()
			if err != nil {
				return systemd.Unit{}, err
			}
			secrets = filepath.Join(dir, "deed", "secrets.env")
		}
	}
	u := systemd.Unit{Exe: exe, Home: root, User: user, As: as, Path: a.getenv("PATH"), Secrets: secrets, Concurrency: slots}
	if err := u.Validate(); err != nil {
		return u, usage(err)
	}
	return u, nil
}

// settingsDir is where a user's programs keep their settings.
func (a *app) settingsDir() (string, error) {
	if dir := a.getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return dir, nil
	}
	if dir := a.getenv("HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, ".config"), nil
	}
	return "", usage(errors.New("neither XDG_CONFIG_HOME nor HOME is an absolute path (set one: the unit of a user is below it)"))
}

// unitPath is where the unit is written.
func (a *app) unitPath(user bool) (string, error) {
	if !user {
		return filepath.Join("/etc/systemd/system", systemd.Name), nil
	}
	dir, err := a.settingsDir()
	return filepath.Join(dir, "systemd", "user", systemd.Name), err
}

// maxUnit bounds a unit that is read.
const maxUnit = 1 << 20

// foreignUnit says why the unit at a path is not deed's to change. It returns fs.ErrNotExist when there is none.
func foreignUnit(path string) error {
	data, err := plainfile.Read(path, maxUnit)
	if err != nil {
		return err
	}
	if !systemd.Ours(string(data)) {
		return usage(fmt.Errorf("%s was not written by deed (move it away first)", showPath(path)))
	}
	return nil
}

func (a *app) installUnit(u systemd.Unit, dry bool) error {
	if dry {
		a.printf("%s", u)
		return nil
	}
	path, err := a.unitPath(u.User)
	if err != nil {
		return err
	}
	if err := foreignUnit(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("install the unit: %w", err)
	}
	if err := atomicfile.WriteFile(path, []byte(u.String()), 0o644); err != nil {
		return fmt.Errorf("install the unit: %w", err)
	}
	ctl := systemctl(u.User)
	if a.json {
		return a.emit(map[string]any{"schema": "deed/service/v1", "unit": path, "home": u.Home})
	}
	a.printf("%s\n", showPath(path))
	a.hint("start it: %s daemon-reload && %s enable --now deed", ctl, ctl)
	if !u.User && u.As == "" {
		a.hint("it runs as root, and so do agents on the host (give --as ACCOUNT for another)")
	}
	return nil
}

func systemctl(user bool) string {
	if user {
		return "systemctl --user"
	}
	return "systemctl"
}

func (a *app) serviceStatusCmd(user *bool) *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "Show whether the service is installed and how it is", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.serviceStatus(c.Context(), *user) },
	}
}

func (a *app) serviceStatus(ctx context.Context, user bool) error {
	path, err := a.unitPath(user)
	if err != nil {
		return err
	}
	out := [][2]string{{"unit", "not installed"}}
	if _, err := os.Stat(path); err == nil {
		out[0][1] = path
	}
	argv := append(strings.Fields(systemctl(user)), "show", systemd.Name, "--property=ActiveState,SubState,StatusText,MainPID,NRestarts")
	res, err := proc.Tool(ctx, proc.ToolSpec{Argv: argv, Env: a.environ, MaxOutput: 1 << 16})
	if err != nil {
		out = append(out, [2]string{"manager", "systemd cannot be asked: " + err.Error()})
	}
	for line := range strings.Lines(string(res.Stdout)) {
		if k, v, ok := strings.Cut(strings.TrimSpace(line), "="); ok && v != "" {
			out = append(out, [2]string{k, v})
		}
	}
	if a.json {
		doc := map[string]string{"schema": "deed/service.status/v1"}
		for _, kv := range out {
			doc[kv[0]] = kv[1]
		}
		return a.emit(doc)
	}
	for _, kv := range out {
		a.field(kv[0], clean(kv[1]))
	}
	return nil
}

func (a *app) serviceUninstallCmd(user *bool) *cobra.Command {
	return &cobra.Command{
		Use: "uninstall", Short: "Remove the unit that deed wrote; the home stays", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			path, err := a.unitPath(*user)
			if err != nil {
				return err
			}
			if err := foreignUnit(path); errors.Is(err, fs.ErrNotExist) {
				return usage(fmt.Errorf("there is no %s (nothing is installed)", showPath(path)))
			} else if err != nil {
				return err
			}
			if err := os.Remove(path); err != nil {
				return fmt.Errorf("uninstall: %w", err)
			}
			ctl := systemctl(*user)
			if a.json {
				return a.emit(map[string]any{"schema": "deed/service/v1", "removed": path})
			}
			a.printf("removed %s\n", showPath(path))
			a.hint("stop it, if it runs: %s stop deed && %s daemon-reload", ctl, ctl)
			return nil
		},
	}
}
