package selfprovider

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/deedrun/deed/internal/agent/runtimepkg/shipped"
	"github.com/deedrun/deed/internal/attempt/wordpress"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/provider"
)

// The package that runs WordPress in PHP compiled to WebAssembly, and the variables that say where its parts are.
const (
	playgroundID        = "wp-playground"
	playgroundModules   = "WP_PLAYGROUND_DIR"       // with node_modules
	playgroundWordPress = "WP_PLAYGROUND_WORDPRESS" // with an archive of an installed WordPress, and one of the SQLite plugin
	playgroundNode      = "NODE_BIN"
)

// Directories of the machine that PHP sees, by the names that it sees them under.
const (
	sqliteDir    = "/wordpress-sqlite"
	workspaceDir = "/workspace"
	contentDir   = "/wordpress/wp-content/"
)

// playground carries a request out. What it cannot do is refused before anything is unpacked.
func playground(ctx context.Context, q provider.Request, r *provider.Run) (provider.Outcome, error) {
	o, err := readPlayground(q, r.Dir())
	if err != nil {
		return provider.Outcome{}, err
	}
	if o.work() == 0 {
		return provider.NoOp("the request names no work: neither php, file nor ability in executor.config, no runtime_execution, no runtime command"), nil
	}
	if err := o.recognise(r.Dir()); err != nil {
		return provider.Outcome{}, err
	}
	scratch, err := os.MkdirTemp(r.Env("TMPDIR"), "playground-")
	if err != nil {
		return provider.Outcome{}, provider.Setup(err)
	}
	defer func() { _ = os.RemoveAll(scratch) }() // it is in the run's own directory for temporary files
	job, err := o.prepare(ctx, r, scratch)
	if err != nil {
		return provider.Outcome{}, err
	}
	r.Progress("starting WordPress in PHP")
	played, err := play(ctx, r, job, scratch)
	if err != nil {
		return provider.Outcome{}, err
	}
	return played.outcome(r)
}

// A playgroundScript is what playground.mjs reads.
type playgroundScript struct {
	Modules string            `json:"modules"`
	Boot    string            `json:"boot"`
	Mounts  []playgroundMount `json:"mounts"`
	Steps   []playgroundStep  `json:"steps"`
}

type playgroundMount struct {
	Root   string `json:"root"`
	Target string `json:"target"`
}

// A playgroundStep is one request to WordPress. See boot.php.
type playgroundStep struct {
	Do      string          `json:"do"`
	Dir     string          `json:"dir"`
	Code    string          `json:"code,omitempty"`
	File    string          `json:"file,omitempty"`
	Args    []string        `json:"args,omitempty"`
	Ability string          `json:"ability,omitempty"`
	Input   json.RawMessage `json:"input,omitempty"`
	LoadAs  string          `json:"load_as,omitempty"`
	Slug    string          `json:"slug,omitempty"`
}

// prepare lays out a WordPress of this run's own, and says what is to be done in it.
func (o *playgroundOptions) prepare(ctx context.Context, r *provider.Run, scratch string) (playgroundScript, error) {
	none := playgroundScript{}
	modules, archives := r.Env(playgroundModules), r.Env(playgroundWordPress)
	if modules == "" || archives == "" {
		return none, provider.Setup(fmt.Errorf("%s and %s are not both set (see the README of the package)", playgroundModules, playgroundWordPress))
	}
	found, err := filepath.Glob(filepath.Join(archives, "wp-*.zip"))
	if err != nil || len(found) == 0 {
		return none, provider.Setup(fmt.Errorf("%s has no wp-*.zip (see the README of the package)", archives))
	}
	err = wordpress.Unpack(ctx, wordpress.Options{Archive: slices.Max(found), SQLite: filepath.Join(archives, "sqlite-database-integration.zip")}, scratch)
	if err != nil {
		if ctx.Err() != nil {
			return none, context.Cause(ctx)
		}
		return none, provider.Setup(err)
	}
	site := filepath.Join(scratch, "wordpress")
	boot, script, dropin := shipped.File(playgroundID, "boot.php"), shipped.File(playgroundID, "playground.mjs"), shipped.File(playgroundID, "dropin.php")
	for name, text := range map[string][]byte{"wordpress/wp-content/db.php": dropin, "playground.mjs": script} {
		if err := os.WriteFile(filepath.Join(scratch, name), text, 0o600); err != nil {
			return none, provider.Setup(err)
		}
	}
	if err := o.load(site); err != nil {
		return none, provider.Setup(err)
	}
	return playgroundScript{
		Modules: modules, Boot: string(boot), Steps: o.steps(),
		Mounts: []playgroundMount{{site, "/wordpress"}, {filepath.Join(scratch, "sqlite"), sqliteDir}, {r.Dir(), o.target()}},
	}, nil
}

// play runs the script. The error is for what keeps the script from reporting a result.
func play(ctx context.Context, r *provider.Run, job playgroundScript, scratch string) (p playgroundResult, err error) {
	text, err := json.Marshal(job)
	if err != nil {
		return p, err
	}
	sup, err := proc.NewSupervisor(ctx, proc.Options{})
	if err != nil {
		return p, provider.Setup(err)
	}
	defer func() { _ = sup.Close() }() // no run is under way
	node := r.Env(playgroundNode)
	if node == "" {
		node = "node"
	}
	out := &kept{}
	exit, err := sup.Run(ctx, proc.Spec{
		Argv: []string{node, filepath.Join(scratch, "playground.mjs")}, Dir: scratch, Stdin: bytes.NewReader(text), Stdout: out, Stderr: r.Stderr(),
		Env: environ(map[string]string{"PATH": r.Env("PATH"), "HOME": scratch, "TMPDIR": scratch, "LANG": "C.UTF-8"}),
	})
	var start *proc.StartError
	switch {
	case errors.As(err, &start):
		return p, provider.Setup(fmt.Errorf("node cannot be started: %w (set %s to its path)", start.Err, playgroundNode))
	case err != nil:
		return p, err
	case exit.Canceled || exit.TimedOut:
		return p, context.Cause(ctx)
	case exit.Code != 0:
		return p, &provider.Failure{Diagnostic: "playground.broken", Err: fmt.Errorf("PHP itself broke: the script that holds it ended with %d; standard error says why", exit.Code)}
	}
	if err := json.Unmarshal(out.Bytes(), &p); err != nil || len(p.Steps) == 0 {
		return p, fmt.Errorf("what the script printed cannot be read: %w", errors.Join(err, io.ErrUnexpectedEOF))
	}
	return p, nil
}
