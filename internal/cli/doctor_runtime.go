package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/deedrun/deed/internal/attempt/wordpress"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/isolate/sandbox"
	"github.com/deedrun/deed/internal/isolate/toolchain"
)

// examineSandboxes says of each kind of isolation whether it is available here.
func (a *app) examineSandboxes(ctx context.Context, add func(name, status, detail, remedy string)) {
	for _, s := range sandbox.Probe(ctx) {
		detail := string(s.Kind)
		if s.Version != "" {
			detail += " (version " + s.Version + ")"
		}
		if !s.Available {
			add("sandbox", "warning", detail+": "+s.Reason, s.Remedy)
			continue
		}
		add("sandbox", "ok", detail, "")
	}
}

// examineWordPress looks at what a run with WordPress needs: PHP with its extensions, and an archive that can be used.
func (a *app) examineWordPress(ctx context.Context, add func(name, status, detail, remedy string)) {
	if a.cfg == nil {
		return
	}
	w := a.cfg.WordPress
	if w == nil {
		add("wordpress", "ok", "not configured (requests that need it are refused)", "")
		return
	}
	if v, err := a.phpVersion(ctx, cmp.Or(w.PHP, "php")); err != nil {
		add("php", "fault", err.Error(), "install it with its extensions: apt-get install php-cli php-sqlite3 php-mbstring php-xml")
	} else {
		add("php", "ok", v, "")
	}
	v, err := wordpress.Inspect(wordpress.Options{Archive: w.Archive, SQLite: w.SQLite})
	if err != nil {
		var f *failure.Error
		if errors.As(err, &f) {
			add("wordpress", "fault", err.Error(), f.Remedy)
			return
		}
		add("wordpress", "fault", err.Error(), "")
		return
	}
	add("wordpress", "ok", v+" in "+w.Archive, "")
}

// phpVersion asks PHP for its version, and for what it lacks.
func (a *app) phpVersion(ctx context.Context, name string) (string, error) {
	file, err := proc.LookPath(name, a.getenv("PATH"), "/")
	if err != nil {
		return "", fmt.Errorf("%s is not on PATH", name)
	}
	if real, err := filepath.EvalSymlinks(file); err == nil && !toolchain.InSystem(real) {
		return "", fmt.Errorf("%s lies outside of what a sandbox sees of the system", real)
	}
	code := "echo PHP_VERSION; foreach ( array_slice( $argv, 1 ) as $e ) { if ( ! extension_loaded( $e ) ) { echo ' ', $e; } }"
	res, err := proc.Tool(ctx, proc.ToolSpec{Argv: append([]string{file, "-r", code, "--"}, wordpress.Extensions...), Dir: "/"})
	if err != nil {
		return "", err
	}
	version, missing, _ := strings.Cut(strings.TrimSpace(string(res.Stdout)), " ")
	switch {
	case res.ExitCode != 0 || version == "":
		return "", fmt.Errorf("%s ended with exit code %d", file, res.ExitCode)
	case missing != "":
		return "", fmt.Errorf("%s %s lacks %s", file, version, strings.ReplaceAll(missing, " ", ", "))
	}
	return version, nil
}
