package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/evidence/bundle/bundletest"
)

// TestMain lets the test binary be deed: testscript runs it as the command, and deed runs it as its supervisor.
func TestMain(m *testing.M) {
	if proc.IsSupervisor(os.Args) {
		os.Exit(proc.SupervisorMain(os.Args))
	}
	testscript.Main(m, map[string]func(){
		"deed": func() {
			os.Exit(Main(os.Args[1:], os.Environ(), Stdio{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
		},
	})
}

// TestScripts runs the command line as a user would: a real home, real processes, real git.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", filepath.Join(e.WorkDir, "user"))
			e.Setenv("DEED_HOME", filepath.Join(e.WorkDir, ".deed"))
			e.Setenv("NO_COLOR", "1")
			e.Setenv("USER", "tester")
			e.Setenv("DEED_LISTEN", "127.0.0.1:0") // many servers at a time
			// Checks compile; the operator's cache spares them the standard library.
			if c, err := os.UserCacheDir(); err == nil {
				e.Setenv("GOCACHE", filepath.Join(c, "go-build"))
			}
			return os.MkdirAll(filepath.Join(e.WorkDir, "user"), 0o755)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			// makerun ID STATUS [DIR] records a run through the library, as its owner does, and takes it to a state.
			"makerun": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) < 2 || len(args) > 3 {
					ts.Fatalf("usage: makerun id status [artifacts]")
				}
				ts.Check(makeRun(ts.Getenv("DEED_HOME"), args[0], evidence.RunStatus(args[1]), append(args, "")[2]))
			},
			"ask":    askCommand,
			"refuse": refuseCommand,
			// checkbundles runs the independent checker on every bundle of the home.
			"checkbundles": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) > 1 {
					ts.Fatalf("usage: checkbundles [home]")
				}
				home := ts.Getenv("DEED_HOME")
				if len(args) == 1 {
					home = ts.MkAbs(args[0])
				}
				dirs, err := filepath.Glob(filepath.Join(home, "bundles", "*"))
				ts.Check(err)
				if len(dirs) == 0 {
					ts.Fatalf("no bundle in %s", home)
				}
				for _, d := range dirs {
					for _, v := range bundletest.Problems(d) {
						ts.Logf("%s: %s", d, v)
						defer ts.Fatalf("the independent checker refuses %s", d)
					}
				}
			},
		},
	})
}
