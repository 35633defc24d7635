package helper

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/deedrun/deed/internal/base/atomicfile"
)

//go:embed sh include
var source embed.FS

// files are the helpers by name: the variable that names each, and its text.
var files = sync.OnceValue(func() map[string][]byte {
	out := map[string][]byte{}
	entries, err := source.ReadDir("sh")
	if err != nil {
		panic(err) // embedded
	}
	for _, e := range entries {
		text, err := source.ReadFile("sh/" + e.Name())
		if err != nil {
			panic(err) // embedded
		}
		out[e.Name()] = compose(text)
	}
	return out
})

// compose puts the text of the parts in the place of the lines that name them. A helper must work wherever it is copied
// to, and a sourced file cannot know where that is: so each carries what it needs.
func compose(text []byte) []byte {
	var out bytes.Buffer
	for line := range bytes.Lines(text) {
		name, ok := bytes.CutPrefix(line, []byte("# deed:include "))
		if !ok {
			out.Write(line)
			continue
		}
		part, err := source.ReadFile("include/" + strings.TrimSpace(string(name)))
		if err != nil {
			panic(err) // embedded, and a test composes them all
		}
		out.Write(part)
	}
	return out.Bytes()
}

// Variable is the name under which a script finds a helper: HOMEBOY_RUNTIME_RUNNER_STEPS for runner-steps.sh.
func Variable(file string) string {
	stem := strings.TrimSuffix(file, filepath.Ext(file))
	return "HOMEBOY_RUNTIME_" + strings.ToUpper(strings.ReplaceAll(stem, "-", "_"))
}

// Digest names the helpers by their content.
var Digest = sync.OnceValue(func() string {
	h := sha256.New()
	for _, name := range names() {
		fmt.Fprintf(h, "%s %d\n%s", name, len(files()[name]), files()[name])
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
})

// Materialise writes the helpers below dir, in a directory that is named after their content, and returns where each
// is by its variable. Files that are already whole are not touched, so callers at the same time do not disturb each other
// nor a script that reads one; whatever else stands in the place of a file is replaced. A crash leaves a directory that
// the next call completes.
func Materialise(dir string) (map[string]string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("materialise helpers: %w", err)
	}
	dir = filepath.Join(dir, Digest())
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, atomicfile.Explain("materialise helpers", err)
	}
	out := make(map[string]string, len(files()))
	for name, text := range files() {
		path := filepath.Join(dir, name)
		if !isIntact(path, text) {
			if err := atomicfile.Replace(path, text, 0o644); err != nil {
				return nil, fmt.Errorf("materialise helpers: %w", err)
			}
		}
		out[Variable(name)] = path
	}
	return out, nil
}

// isIntact reports whether path is a regular file with this text that others cannot change.
func isIntact(path string, text []byte) bool {
	info, err := os.Lstat(path)
	if err != nil || info.Mode() != 0o644 || info.Size() != int64(len(text)) {
		return false
	}
	got, err := os.ReadFile(path)
	return err == nil && bytes.Equal(got, text)
}

func names() []string { return slices.Sorted(maps.Keys(files())) }
