package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/deedrun/deed/contract/codebox"
	"github.com/deedrun/deed/contract/schema"
	"github.com/deedrun/deed/internal/store"
)

// askCommand is `ask CODE JSON [flag...]`: it merges the members of JSON into base.json, runs agent-task-run on that, and
// wants the exit code and one valid envelope on standard output that agrees with it. A member that is null is left out,
// and $WORK is replaced by the directory of the script. Standard output is the envelope, for the lines that follow.
func askCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: ask code json [flag...]")
	}
	code, err := strconv.Atoi(args[0])
	ts.Check(err)
	ask(ts, code, args[1], args[2:]...)
}

// refuseCommand is `refuse PATH JSON`: the request is refused with a fault at that path, and nothing else changes.
func refuseCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: refuse path json")
	}
	before := listing(ts)
	env := ask(ts, ExitUsage, args[1])
	if d := cmp.Diff(before, listing(ts)); d != "" {
		ts.Fatalf("a refused request changed something:\n%s", d)
	}
	if got := env.AgentTaskRunResult.FailureClassification; got != "invalid_request" {
		ts.Fatalf("the classification is %q, want invalid_request", got)
	}
	for _, d := range env.Diagnostics {
		if d.Path == args[0] && d.Message != "" {
			return
		}
	}
	ts.Fatalf("no fault is told at %s", args[0])
}

func ask(ts *testscript.TestScript, code int, members string, flags ...string) codebox.AgentTaskRun {
	request := map[string]json.RawMessage{}
	for _, text := range []string{ts.ReadFile("base.json"), members} {
		add := map[string]json.RawMessage{}
		ts.Check(json.Unmarshal([]byte(strings.ReplaceAll(text, "$WORK", ts.Getenv("WORK"))), &add))
		maps.Copy(request, add)
	}
	maps.DeleteFunc(request, func(_ string, v json.RawMessage) bool { return string(v) == "null" })
	text, err := json.Marshal(request)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs("request.json"), text, 0o600))
	err = ts.Exec("deed", append([]string{"agent-task-run", "--input-file=request.json", "--json"}, flags...)...)
	got := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	out := ts.ReadFile("stdout")
	env, err := schema.Decode[codebox.AgentTaskRun](codebox.SchemaAgentTaskRun, []byte(out)) // it refuses a second document
	if err != nil {
		ts.Fatalf("standard output is not one envelope: %v\n%s", err, out)
	}
	if got != code || env.Success != (code == ExitDone) {
		ts.Fatalf("exit %d, success %v, want exit %d", got, env.Success, code)
	}
	return env
}

// listing names every file of the script's directory, without the files that opening a database makes next to it.
func listing(ts *testscript.TestScript) []string {
	var out []string
	root := ts.Getenv("WORK")
	ts.Check(filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		switch {
		case rel == ".tmp":
			return fs.SkipDir
		case strings.HasPrefix(rel, filepath.Join(".deed", "deed.db-")), rel == "request.json":
			return nil
		}
		info, err := d.Info()
		if err == nil {
			out = append(out, rel+" "+info.Mode().String())
		}
		return err
	}))
	st, err := store.Open(context.Background(), filepath.Join(ts.Getenv("DEED_HOME"), "deed.db"), store.Options{})
	ts.Check(err)
	n, err := st.Counts(context.Background())
	ts.Check(errors.Join(err, st.Close()))
	return append(out, fmt.Sprint("tasks ", n))
}
