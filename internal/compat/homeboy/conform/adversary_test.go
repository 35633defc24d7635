package conform

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/provider"
)

// TestMain makes the test binary a provider that breaks one rule.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "adversary" {
		os.Exit(adversary(os.Args[2]))
	}
	os.Exit(m.Run())
}

// adversary is a good provider except for its mode.
func adversary(mode string) int {
	if mode == "stop.signal" {
		signal.Ignore(syscall.SIGTERM)
		fmt.Fprintln(os.Stderr, "deaf")
	}
	asked := len(os.Args) > 3 && os.Args[3] == provider.ContractFlag
	if asked && mode == "command.declaration" {
		fmt.Println(`{"id":"another"}`)
		return 0
	}
	fi, _ := os.Stdin.Stat()
	stdin, err := io.ReadAll(os.Stdin)
	if err != nil {
		return 1
	}
	if strings.HasPrefix(mode, "stop.limit") && bytes.Contains(stdin, []byte(`"timeout_ms":1000}`)) {
		if mode == "stop.limit:deaf" {
			signal.Ignore(syscall.SIGTERM)
		}
		<-time.After(1000 * time.Second) // it outlives every limit of the suite
	}
	if rule := invalid(stdin, fi); rule != "" && !asked {
		switch kind, which, _ := strings.Cut(mode, ":"); {
		case which != rule:
		case kind == "accept":
			fmt.Println(`{"schema":"homeboy/agent-task-outcome/v1","task_id":"x","status":"succeeded"}`)
			return 0
		case kind == "crash":
			fmt.Fprintln(os.Stderr, "Uncaught SyntaxError")
			return 1
		case kind == "vague":
			fmt.Println(`{"schema":"homeboy/agent-task-outcome/v1","task_id":"x","status":"provider_error","failure_classification":"provider"}`)
			return 0
		case kind == "silent":
			return 0
		}
	}
	dir, _ := os.Getwd()
	var out bytes.Buffer
	code := provider.Serve(context.Background(), provider.Provider{ID: "adversary.run", Manifest: mine()}, work(mode), provider.Stdio{
		Args: os.Args[3:], Environ: os.Environ(), Dir: dir, In: bytes.NewReader(stdin), Out: &out, Err: os.Stderr,
	})
	text := out.String()
	if strings.Contains(text, `"status":"succeeded"`) {
		text, code = spoil(mode, text, code)
	}
	fmt.Print(text)
	return code
}

// invalid says which rule a request tries, if any.
func invalid(stdin []byte, fi os.FileInfo) string {
	var q homeboy.Request
	switch {
	case len(stdin) == 0 && fi.Mode()&os.ModeCharDevice != 0:
		return "request.none"
	case len(stdin) == 0:
		return "request.empty"
	case json.Unmarshal(stdin, &q) != nil:
		return "request.not_json"
	case q.Schema != homeboy.SchemaRequest:
		return "request.schema"
	case q.TaskID == "":
		return "request.task_id"
	case q.Executor.Backend != "adversary":
		return "request.backend"
	case q.Instructions == "":
		return "request.field:instructions"
	}
	return ""
}

func mine() []byte {
	dir := os.Getenv("HOMEBOY_AGENT_RUNTIME_PATH")
	text, _ := os.ReadFile(filepath.Join(dir, filepath.Base(dir)+".json"))
	return text
}

// work is what the adversary does with a valid request.
func work(mode string) provider.Handler {
	return func(ctx context.Context, q provider.Request, r *provider.Run) (provider.Outcome, error) {
		if string(q.Executor.Config["fail"]) == "true" {
			return provider.Outcome{}, errors.New("as it was told")
		}
		token := os.Getenv("ADVERSARY_TOKEN")
		switch mode {
		case "secrets:stderr":
			fmt.Fprintln(os.Stderr, "using", token)
		case "secrets:base64":
			fmt.Fprintln(os.Stderr, base64.StdEncoding.EncodeToString([]byte("user:"+token)))
		case "secrets:artifact":
			return provider.Succeeded("x"), errors.Join(r.Artifact("report", "r", nil), os.WriteFile(filepath.Join(q.ArtifactsPath, "leak"), []byte(token), 0o600))
		case "workspace.scope":
			if err := os.WriteFile("stray", nil, 0o600); err != nil {
				return provider.Outcome{}, err
			}
		case "package.unchanged":
			if err := os.WriteFile(filepath.Join(os.Getenv("HOMEBOY_AGENT_RUNTIME_PATH"), "state"), nil, 0o600); err != nil {
				return provider.Outcome{}, err
			}
		case "processes.none_left":
			c := exec.CommandContext(context.WithoutCancel(ctx), "sleep", "1000")
			c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
			if err := c.Start(); err != nil {
				return provider.Outcome{}, err
			}
		case "request.unknown_members":
			if _, there := q.Extra["x_conform"]; there {
				return provider.Outcome{}, errors.New("unknown member")
			}
		case "request.large":
			if len(q.Raw) > 1<<20 {
				return provider.Outcome{}, errors.New("too large")
			}
		case "paths.workspace":
			if strings.Contains(r.Dir(), " ") {
				return provider.Outcome{}, errors.New("lost")
			}
		}
		return provider.Succeeded("did it"), r.Artifact("report", "report.txt", []byte("all is well\n"))
	}
}

// spoil breaks the outcome of a success.
func spoil(mode, text string, code int) (string, int) {
	edit := func(change func(o map[string]any)) string {
		var o map[string]any
		_ = json.Unmarshal([]byte(text), &o)
		change(o)
		out, _ := json.Marshal(o)
		return string(out) + "\n"
	}
	artifact := func(change func(a map[string]any)) string {
		return edit(func(o map[string]any) { change(o["artifacts"].([]any)[0].(map[string]any)) })
	}
	switch mode {
	case "outcome.document":
		return "", code
	case "outcome.alone":
		return "npm warn deprecated\n" + text, code
	case "outcome.alone:twice":
		return text + text, code
	case "outcome.schema":
		return strings.Replace(text, "agent-task-outcome/v1", "agent-task-outcome/v2", 1), code
	case "outcome.task_id":
		return edit(func(o map[string]any) { o["task_id"] = "another" }), code
	case "outcome.task_id:null":
		return edit(func(o map[string]any) { o["task_id"] = nil }), code
	case "outcome.status":
		return edit(func(o map[string]any) { o["status"] = "no_op" }), code
	case "outcome.classification":
		return edit(func(o map[string]any) { o["status"] = "failed" }), code
	case "outcome.strict":
		return edit(func(o map[string]any) {
			o["diagnostics"] = []any{map[string]any{"classification": "x", "message": "y"}}
		}), code
	case "outcome.exit":
		return text, 3
	case "secrets:stdout":
		return edit(func(o map[string]any) { o["summary"] = os.Getenv("ADVERSARY_TOKEN") }), code
	case "artifacts.exist":
		return artifact(func(a map[string]any) { a["path"] = a["path"].(string) + ".gone" }), code
	case "artifacts.inside":
		return artifact(func(a map[string]any) { a["path"] = "/etc/hostname"; delete(a, "sha256"); delete(a, "size_bytes") }), code
	case "artifacts.inside:link":
		return artifact(func(a map[string]any) {
			path := a["path"].(string)
			_ = errors.Join(os.Remove(path), os.Symlink("/etc/hostname", path))
			delete(a, "sha256")
			delete(a, "size_bytes")
		}), code
	case "artifacts.digest":
		return artifact(func(a map[string]any) { a["sha256"] = strings.Repeat("0", 64) }), code
	case "artifacts.digest:size":
		return artifact(func(a map[string]any) { a["size_bytes"] = 1 }), code
	}
	return text, code
}
