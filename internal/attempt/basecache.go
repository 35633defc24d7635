package attempt

import (
	"context"
	"crypto/hmac"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/internal/attempt/gate"
	"github.com/deedrun/deed/internal/base/atomicfile"
	"github.com/deedrun/deed/internal/base/canonjson"
	"github.com/deedrun/deed/internal/checks/helper"
	"github.com/deedrun/deed/internal/evidence/workspace"
	"github.com/deedrun/deed/internal/isolate/toolchain"
)

// The result of a check on a base is kept in the home, keyed by everything that it depends on. An agent that can
// write there cannot forge one: a record carries a code that only the installation's key can make. A record that does
// not verify is ignored.
const (
	basePurpose   = "base-check"
	maxBaseRecord = 64 << 20
	maxBases      = 200 // records that are kept; the oldest are removed first
)

// A baseRecord is the content of such a file.
type baseRecord struct {
	Key string       `json:"key"`
	Run gate.BaseRun `json:"run"`
}

func (a *run) basesDir() string { return filepath.Join(a.Home.Cache(), "base-checks") }

// baseKey covers everything that the result of a check on the base depends on. How the result is judged is not part
// of it.
func (a *run) baseKey(c deed.Check) (string, error) {
	c.Name, c.Files, c.Inputs, c.OnChangedInputs, c.RequirePass, c.Hidden, c.Advisory = "", "", nil, "", nil, false, false
	runners, err := a.runners(c)
	if err != nil {
		return "", err
	}
	env := inherited(a.Environ, "")
	if a.plan.contained() {
		env = toolchain.Find(a.Environ, a.toolchains(), insideHome).Env
	}
	return canonjson.HashIn("deed/base-check/v2", map[string]any{
		"base": a.before.Digest(), "check": c, "runners": runners, "helpers": helper.Digest(), "deed": a.Version,
		"os": runtime.GOOS, "arch": runtime.GOARCH, "containment": a.plan.kind, "sandbox": a.plan.spec.Sandbox, "env": env, "tools": tools(env["PATH"]),
	})
}

// toolNames are the programs whose version can change the result of a check.
var toolNames = []string{
	"bash", "cargo", "composer", "eslint", "go", "gofmt", "golangci-lint", "jest", "make", "node", "npm", "npx", "php", "phpunit", "pnpm", "pytest", "python3", "ruff", "rustc", "sh", "shellcheck", "yarn",
}

// tools identifies the programs on a path by their file metadata: asking each for its version would cost more than
// many a check.
func tools(path string) map[string]string {
	out := map[string]string{}
	for _, name := range toolNames {
		for _, dir := range filepath.SplitList(path) {
			file, err := filepath.EvalSymlinks(filepath.Join(dir, name))
			if err != nil {
				continue
			}
			if fi, err := os.Stat(file); err == nil && fi.Mode().IsRegular() {
				out[name] = fmt.Sprintf("%s %d %d", file, fi.Size(), fi.ModTime().UnixNano())
				break
			}
		}
	}
	return out
}

// Base returns the result that an earlier attempt kept.
func (a checker) Base(_ context.Context, c deed.Check) (gate.BaseRun, bool) {
	if a.Key == nil {
		return gate.BaseRun{}, false
	}
	key, err := a.baseKey(c)
	if err != nil {
		return gate.BaseRun{}, false
	}
	f, err := os.Open(filepath.Join(a.basesDir(), key+".json"))
	if err != nil {
		return gate.BaseRun{}, false
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxBaseRecord))
	if err != nil {
		return gate.BaseRun{}, false
	}
	code, text, _ := strings.Cut(string(data), "\n")
	want, err := hex.DecodeString(code)
	var r baseRecord
	if err != nil || !hmac.Equal(want, a.Key.MAC(basePurpose, []byte(text))) || json.Unmarshal([]byte(text), &r) != nil || r.Key != key || r.Run.Status == "" {
		return gate.BaseRun{}, false
	}
	a.note("base_check", map[string]any{"check": gate.CheckName(c), "key": key, "cached": true})
	return r.Run, true
}

// KeepBase keeps a result. One that cannot be kept is measured again.
func (a checker) KeepBase(_ context.Context, c deed.Check, b gate.BaseRun) {
	if a.Key == nil {
		return
	}
	key, err := a.baseKey(c)
	if err != nil {
		return
	}
	a.note("base_check", map[string]any{"check": gate.CheckName(c), "key": key, "cached": false})
	text, err := json.Marshal(baseRecord{Key: key, Run: b})
	if err != nil || len(text) > maxBaseRecord/2 {
		return
	}
	dir := a.basesDir()
	if err := atomicfile.MkdirAll(dir, 0o700); err != nil {
		return
	}
	code := hex.EncodeToString(a.Key.MAC(basePurpose, text))
	_ = atomicfile.Replace(filepath.Join(dir, key+".json"), append([]byte(code+"\n"), text...), 0o600)
	prune(dir, maxBases)
}

// prune removes the oldest entries of a directory until at most so many are left.
func prune(dir string, most int) {
	for _, old := range older(dir, most) {
		_ = workspace.Remove(old)
	}
}
