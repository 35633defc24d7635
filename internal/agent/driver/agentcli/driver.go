package agentcli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/driver/process"
	"github.com/deedrun/deed/internal/base/atomicfile"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/isolate/sandbox"
	"github.com/deedrun/deed/internal/isolate/toolchain"
)

// A Driver drives the CLI of a dialect.
type Driver struct{ dialect Dialect }

// New makes the driver of a dialect.
func New(d Dialect) *Driver { return &Driver{d} }

var (
	_ driver.Driver       = (*Driver)(nil)
	_ driver.Credentialed = (*Driver)(nil)
	_ driver.Networked    = (*Driver)(nil)
	_ driver.Mounted      = (*Driver)(nil)
	_ driver.Versioned    = (*Driver)(nil)
	_ driver.Asking       = (*Driver)(nil)
)

// Kind returns the dialect's kind.
func (d *Driver) Kind() string { return d.dialect.Kind() }

// AsksFirst reports whether the dialect lets deed decide before a call is carried out.
func (d *Driver) AsksFirst() bool {
	a, ok := d.dialect.(driver.Asking)
	return ok && a.AsksFirst()
}

// Ready looks for the command and for the environment file.
func (d *Driver) Ready(ctx context.Context, a agentruntime.AdapterConfig) driver.Readiness {
	c, err := d.config(a)
	if err != nil {
		return driver.Readiness{Missing: []driver.Missing{{Name: "adapter", Reason: err.Error(), Remedy: "name an adapter of kind " + d.Kind()}}}
	}
	return process.Ready(ctx, c, d.dialect.Install())
}

// Credentials returns the variables of the adapter's own environment that look like credentials.
func (d *Driver) Credentials(a agentruntime.AdapterConfig) (map[string]string, error) {
	return process.Credentials(a)
}

// Hosts returns the hosts of the agent's model.
func (d *Driver) Hosts(a agentruntime.AdapterConfig) ([]string, error) {
	c, err := d.config(a)
	if err != nil {
		return nil, err
	}
	env, err := process.Own(c)
	if err != nil {
		return nil, err
	}
	return d.dialect.Hosts(a, env)
}

// Mounts returns what the agent's program consists of. What every sandbox shows anyway is not listed.
func (d *Driver) Mounts(a agentruntime.AdapterConfig) ([]sandbox.Mount, error) {
	c, err := d.config(a)
	if err != nil {
		return nil, err
	}
	p, err := d.program(c)
	if err != nil {
		return nil, err
	}
	if toolchain.InSystem(p.File) {
		return nil, nil
	}
	return p.mounts(), nil
}

// versionTimeout bounds how long a CLI may take to say its version. These are programs of 200 MB and more, from a cold disk.
const versionTimeout = 20 * time.Second

// Version asks the CLI for its version, in a home that is thrown away.
func (d *Driver) Version(ctx context.Context, a agentruntime.AdapterConfig) (string, error) {
	c, err := d.config(a)
	if err != nil {
		return "", err
	}
	p, err := d.program(c)
	if err != nil {
		return "", err
	}
	home, done, err := atomicfile.Scratch("version")
	if err != nil {
		return "", err
	}
	defer done()
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	r, err := proc.Tool(ctx, proc.ToolSpec{Argv: []string{p.File, "--version"}, Dir: home, Env: []string{"HOME=" + home, "PATH=" + process.OwnPath(c)}, MaxOutput: 64 << 10})
	if err == nil {
		err = r.Check()
	}
	if err != nil {
		return "", fmt.Errorf("ask %s for its version: %w", d.Kind(), err)
	}
	line, _, _ := strings.Cut(strings.TrimSpace(strings.ToValidUTF8(string(r.Stdout), "\ufffd")), "\n")
	return driver.Shorten(line), nil
}

func (d *Driver) config(a agentruntime.AdapterConfig) (process.Config, error) {
	c, ok := process.Of(a)
	if !ok || a.Kind() != d.Kind() {
		return c, failure.New(failure.Config, "start "+d.Kind(), fmt.Errorf("adapter %q is of kind %q", a.ID(), a.Kind()), "")
	}
	return c, nil
}

// program finds what the adapter's command stands for on this machine.
func (d *Driver) program(c process.Config) (Program, error) {
	file, err := process.FindCommand(c.Command, process.OwnPath(c), "/")
	if err != nil {
		var f *failure.Error
		if errors.As(err, &f) && f.Class == failure.Spawn {
			f.Remedy = d.dialect.Install()
		}
		return Program{}, err
	}
	if file, err = filepath.EvalSymlinks(file); err != nil {
		return Program{}, failure.New(failure.Spawn, "find the command", err, d.dialect.Install())
	}
	return d.dialect.Locate(file), nil
}

// Start checks everything that can be wrong before a process is started, and makes the CLI's configuration home.
func (d *Driver) Start(ctx context.Context, j driver.Job) (_ driver.Session, err error) {
	c, err := d.config(j.Adapter)
	if err != nil {
		return nil, err
	}
	if err := j.Adapter.Validate(); err != nil {
		return nil, failure.New(failure.Config, "read the adapter", err, "")
	}
	s := &session{kind: d.Kind(), state: &State{}}
	if j.Resume != "" {
		// A deed that died in the middle of the first turn knew only the name that the agent had reported.
		if GoodID(j.Resume) {
			s.state.ID = j.Resume
		} else if err := json.Unmarshal([]byte(j.Resume), s.state); err != nil || s.state.ID == "" {
			return nil, failure.New(failure.Config, "go on with a conversation", fmt.Errorf("%.60q is no reference to one", j.Resume), "start anew")
		}
	}
	p, err := d.program(c)
	if err != nil {
		return nil, err
	}
	plan := Plan{State: s.state}
	if plan.Posture, err = postureOf(j, c); err != nil {
		return nil, err
	}
	if plan.Agent, err = process.Prepare(j, d.Kind(), p.File); err != nil {
		return nil, err
	}
	s.plan = plan
	defer func() {
		if err != nil {
			_ = s.Close(ctx)
		}
	}()
	s.plan.Home = filepath.Join(j.Dirs.Home, "."+d.Kind())
	if err := makeHome(j.Dirs.Home, "."+d.Kind()); err != nil {
		return nil, failure.New(failure.Infra, "make the agent's configuration home", err, "")
	}
	if s.conversation, err = d.dialect.Begin(s.plan); err != nil {
		return nil, err
	}
	return s, s.checkLaunch(ctx)
}

// makeHome makes a directory in the agent's home, which the agent of an earlier session could write to.
func makeHome(home, name string) error {
	root, err := os.OpenRoot(home)
	if err != nil {
		return err
	}
	defer root.Close()
	st, err := root.Lstat(name)
	if err == nil && st.IsDir() {
		return nil
	}
	if err == nil {
		if err := root.Remove(name); err != nil {
			return err
		}
	}
	return root.Mkdir(name, 0o700)
}

// vars is the environment of a launch.
func (s *session) vars(l Launch) (process.Vars, error) {
	own, err := process.Own(s.plan.Config)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(l.Env)) {
		_, set := own[name]
		if _, secret := s.plan.Job.Secrets[name]; set || secret {
			return nil, failure.New(failure.Config, "make the environment of "+s.kind, fmt.Errorf("%s is deed's to set", name), "remove the variable")
		}
	}
	vars := s.plan.Vars
	missing := map[string]string{}
	for name, value := range l.Defaults {
		if _, set := vars[name]; !set {
			missing[name] = value
		}
	}
	return vars.With(missing).With(l.Env), nil
}
