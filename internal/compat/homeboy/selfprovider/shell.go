package selfprovider

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/provider"
)

// kindStream is what the contract calls the output of a provider's program.
const kindStream = "provider-process-stream"

// maxStream bounds what is kept of each stream.
const maxStream = 16 << 20

// shellOptions is executor.config of local-shell.
type shellOptions struct {
	Command     json.RawMessage   `json:"command"` // a program, or a list of it and its arguments
	Args        []string          `json:"args"`
	CommandArgs []string          `json:"command_args"`
	Shell       bool              `json:"shell"`
	Env         map[string]string `json:"env"`
	RuntimeEnv  map[string]string `json:"runtime_env"`
}

// argv is what is started; nil: nothing.
func (o shellOptions) argv() ([]string, error) {
	if len(o.Command) == 0 || string(o.Command) == "null" {
		return nil, nil
	}
	var words homeboy.Texts
	if err := json.Unmarshal(o.Command, &words); err != nil {
		return nil, provider.Invalid(fmt.Errorf("$.executor.config.command: %w", err))
	}
	if len(words) == 0 || words[0] == "" {
		return nil, provider.Invalid(errors.New("$.executor.config.command is empty (name a program)"))
	}
	rest := slices.Concat(words[1:], o.Args, o.CommandArgs)
	if !o.Shell {
		return append([]string{words[0]}, rest...), nil
	}
	return append([]string{"/bin/sh", "-c", words[0], "sh"}, rest...), nil
}

// localShell runs one command in the workspace.
func localShell(ctx context.Context, q provider.Request, r *provider.Run) (provider.Outcome, error) {
	var o shellOptions
	if err := q.Config(&o); err != nil {
		return provider.Outcome{}, err
	}
	argv, err := o.argv()
	if err != nil {
		return provider.Outcome{}, err
	}
	if argv == nil {
		return provider.NoOp("the request names no command in executor.config.command"), nil
	}
	sup, err := proc.NewSupervisor(ctx, proc.Options{})
	if err != nil {
		return provider.Outcome{}, provider.Setup(err)
	}
	defer func() { _ = sup.Close() }() // no run is under way
	out, errs := &kept{}, &kept{}
	exit, err := sup.Run(ctx, proc.Spec{
		Argv: argv, Dir: r.Dir(), Env: shellEnv(r, o), Stdout: io.MultiWriter(out, r.Stderr()), Stderr: io.MultiWriter(errs, r.Stderr()),
	})
	if serr := errors.Join(r.Artifact(kindStream, "stdout.txt", out.Bytes()), r.Artifact(kindStream, "stderr.txt", errs.Bytes())); serr != nil {
		return provider.Outcome{}, serr
	}
	return ended(ctx, r, argv[0], exit, err)
}

// ended says what followed from how the command ended.
func ended(ctx context.Context, r *provider.Run, name string, exit proc.Exit, err error) (provider.Outcome, error) {
	var start *proc.StartError
	switch {
	case errors.As(err, &start):
		remedy := "give a program of the PATH, or a path"
		if strings.ContainsAny(name, " \t\n") {
			remedy = "it is the name of one program: give arguments in args, or set shell to true for a line of shell"
		}
		return provider.Outcome{}, provider.Setup(fmt.Errorf("%s cannot be started: %w (%s)", name, start.Err, remedy))
	case err != nil:
		return provider.Outcome{}, err
	case exit.Canceled || exit.TimedOut:
		return provider.Outcome{}, context.Cause(ctx)
	}
	if err := r.Output("exit_code", exit.Code); err != nil {
		return provider.Outcome{}, err
	}
	if exit.Code != 0 {
		return provider.Outcome{}, fmt.Errorf("%s ended with %d", name, exit.Code)
	}
	return provider.Succeeded(name + " ended with 0"), nil
}

// shellEnv is the command's environment: nothing is inherited but what every program needs.
func shellEnv(r *provider.Run, o shellOptions) []string {
	vars := map[string]string{"LANG": "C.UTF-8"}
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "USER", "LOGNAME"} {
		if v := r.Env(name); v != "" {
			vars[name] = v
		}
	}
	maps.Copy(vars, o.RuntimeEnv)
	maps.Copy(vars, o.Env)
	maps.Copy(vars, r.Secrets())
	return environ(vars)
}

func environ(vars map[string]string) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		out = append(out, name+"="+vars[name])
	}
	return out
}

// kept keeps the first part of a stream.
type kept struct{ bytes.Buffer }

func (w *kept) Write(p []byte) (int, error) {
	w.Buffer.Write(p[:min(len(p), maxStream-w.Len())])
	return len(p), nil
}

// copied adds a file of the run as an artifact; a missing or empty file is left out.
func copied(r *provider.Run, kind, name, path string) error {
	if path == "" {
		return nil
	}
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // only read
	if fi, err := f.Stat(); err != nil || fi.Size() == 0 {
		return err
	}
	return r.ArtifactFrom(kind, name, f)
}
