package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/deedrun/deed/internal/base/atomicfile"
	"github.com/deedrun/deed/internal/base/canonjson"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/evidence/bundle"
)

const (
	resultSchema = "deed/judge.result/v1"
	resultType   = "application/vnd.deed.judge-result+json" // of the payload of its envelope
)

// A result is the document of one run over the corpus.
type result struct {
	Schema    string            `json:"schema"`
	CreatedAt string            `json:"created_at"`
	Deed      deedFacts         `json:"deed"`
	Machine   machineFacts      `json:"machine"`
	Corpus    corpusFacts       `json:"corpus"`
	Skipped   map[string]string `json:"skipped"` // projects that could not run, and what is missing
	Matrix    matrix            `json:"matrix"`
	Trials    []outcome         `json:"trials"`
	Signer    signer            `json:"signer"`
}

// deedFacts say which deed judged.
type deedFacts struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
	SHA256  string `json:"sha256"` // of the program
}

// machineFacts say where.
type machineFacts struct {
	OS    string            `json:"os"`
	Arch  string            `json:"arch"`
	CPUs  int               `json:"cpus"`
	Tools map[string]string `json:"tools"` // the first line that each says of its version
}

// corpusFacts say what was judged.
type corpusFacts struct {
	SHA256   string            `json:"sha256"`   // over the projects
	Projects map[string]string `json:"projects"` // the digest of each
	Cases    int               `json:"cases"`
}

// A signer carries the public key, so that a stranger can tell a broken signature from an unknown key.
type signer struct {
	KeyID     string `json:"key_id"`
	PublicKey string `json:"public_key"`
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// factsOf digests the projects: the path, the kind and the content of every file.
func factsOf(projects []*project) (corpusFacts, error) {
	f := corpusFacts{Projects: map[string]string{}}
	var lines []string
	for _, p := range projects {
		sum, err := digestDir(p.Dir)
		if err != nil {
			return f, fmt.Errorf("digest project %s: %w", p.Name, err)
		}
		f.Projects[p.Name] = sum
		f.Cases += len(p.Cases)
		lines = append(lines, p.Name+" "+sum+"\n")
	}
	slices.Sort(lines)
	f.SHA256 = digest([]byte(strings.Join(lines, "")))
	return f, nil
}

func digestDir(dir string) (string, error) {
	h := sha256.New()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		var content []byte
		mode := "file"
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			mode, content = "link", []byte(target)
		case !info.Mode().IsRegular():
			return fmt.Errorf("%s is neither a file nor a link", path)
		default:
			if content, err = os.ReadFile(path); err != nil {
				return err
			}
			if info.Mode()&0o100 != 0 {
				mode = "program"
			}
		}
		fmt.Fprintf(h, "%s %s %s\n", mode, digest(content), filepath.ToSlash(rel))
		return nil
	})
	return hex.EncodeToString(h.Sum(nil)), err
}

// toolsOf asks the programs that projects need for their versions.
func toolsOf(ctx context.Context, projects []*project) map[string]string {
	out := map[string]string{}
	for _, p := range projects {
		for _, name := range append(p.programs(), "git") {
			if _, ok := out[name]; ok {
				continue
			}
			out[name] = "unknown"
			file, err := proc.LookPath(name, proc.Getenv(environment(), "PATH"), "/")
			if err != nil {
				continue
			}
			for _, flag := range []string{"--version", "version"} {
				res, err := proc.Tool(ctx, proc.ToolSpec{Argv: []string{file, flag}, Env: environment()})
				if err == nil && res.ExitCode == 0 && len(res.Stdout) > 0 {
					line, _, _ := strings.Cut(string(bytes.TrimSpace(res.Stdout)), "\n")
					out[name] = line
					break
				}
			}
		}
	}
	return out
}

// deedOf says which deed a binary is.
func deedOf(ctx context.Context, binary string) (deedFacts, error) {
	var f deedFacts
	text, err := os.ReadFile(binary)
	if err != nil {
		return f, fmt.Errorf("read deed: %w", err)
	}
	f.SHA256 = digest(text)
	res, err := proc.Tool(ctx, proc.ToolSpec{Argv: []string{binary, "version", "--json"}, Env: environment()})
	if err == nil {
		err = res.Check()
	}
	if err != nil {
		return f, fmt.Errorf("ask deed for its version: %w", err)
	}
	var doc struct {
		Version string `json:"version"`
	}
	if err := json.Unmarshal(res.Stdout, &doc); err != nil {
		return f, fmt.Errorf("ask deed for its version: %w", err)
	}
	f.Version, f.Commit = doc.Version, "unknown"
	if res, err := proc.Tool(ctx, proc.ToolSpec{Argv: []string{"git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"}, Env: environment()}); err == nil && res.ExitCode == 0 {
		f.Commit = string(bytes.TrimSpace(res.Stdout))
	}
	return f, nil
}

// newResult puts the document together.
func newResult(ctx context.Context, d deedFacts, projects []*project, skipped map[string]string, all []outcome) (result, error) {
	c, err := factsOf(projects)
	if err != nil {
		return result{}, err
	}
	return result{
		Schema: resultSchema, CreatedAt: clock.System().UTC().Format(time.RFC3339), Deed: d, Corpus: c, Skipped: skipped, Matrix: count(all), Trials: all,
		Machine: machineFacts{OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), Tools: toolsOf(ctx, projects)},
	}, nil
}

// write signs the document with a key and writes it.
func (r result) write(file string, k *bundle.Key) error {
	r.Signer = signer{KeyID: k.Public().ID, PublicKey: string(k.Public().PEM())}
	text, err := canonjson.Marshal(r)
	if err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	envelope, err := k.SignDocument(resultType, text)
	if err != nil {
		return fmt.Errorf("sign the result: %w", err)
	}
	return atomicfile.WriteFile(file, envelope, 0o644)
}

// readResult reads a signed document and holds it against itself. The key is one of those trusted, or else the one that it carries:
// known says which.
func readResult(file string, trusted []bundle.PublicKey) (r result, known bool, err error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return r, false, fmt.Errorf("read the result: %w", err)
	}
	inside, err := keyInside(data)
	if err != nil {
		return r, false, fmt.Errorf("%s: %w", file, err)
	}
	text, key, err := bundle.OpenDocument(resultType, data, append(slices.Clone(trusted), inside))
	if err != nil {
		return r, false, fmt.Errorf("%s: %w", file, err)
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return r, false, fmt.Errorf("%s: %w", file, err)
	}
	if r.Schema != resultSchema {
		return r, false, fmt.Errorf("%s: schema is %q, not %q", file, r.Schema, resultSchema)
	}
	known = slices.ContainsFunc(trusted, key.Equal)
	return r, known, r.coherent()
}

// keyInside returns the key that a document says it was signed with. Nothing of it is verified yet.
func keyInside(data []byte) (bundle.PublicKey, error) {
	var e struct {
		Payload string `json:"payload"`
	}
	if err := json.Unmarshal(data, &e); err != nil {
		return bundle.PublicKey{}, fmt.Errorf("not a DSSE envelope: %w", err)
	}
	text, err := base64.StdEncoding.DecodeString(e.Payload)
	if err != nil {
		return bundle.PublicKey{}, fmt.Errorf("payload: %w", err)
	}
	var r struct {
		Signer signer `json:"signer"`
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return bundle.PublicKey{}, fmt.Errorf("payload: %w", err)
	}
	return bundle.ParsePublicKey([]byte(r.Signer.PublicKey))
}

// coherent counts the trials again: the scores follow from labels and verdicts, the matrix from the scores.
func (r result) coherent() error {
	var faults []error
	for _, o := range r.Trials {
		if want := score(o.Label, o.Verdict, o.Unseeable); o.Score != want {
			faults = append(faults, fmt.Errorf("%s is scored %s: a verdict %s of a case labelled %s is %s", o.Trial, o.Score, o.Verdict, o.Label, want))
		}
	}
	said, err := canonjson.Marshal(r.Matrix)
	if err != nil {
		return err
	}
	counted, err := canonjson.Marshal(count(r.Trials))
	if err != nil {
		return err
	}
	if !bytes.Equal(said, counted) {
		faults = append(faults, errors.New("the matrix is not what the trials give"))
	}
	return errors.Join(faults...)
}
