package gate

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

// Code under test runs in the same process as its tests, or next to them, and can fake their report: print their
// lines and exit with 0, or write the report itself. So deed adds a test of its own next to the project's, with a
// name that cannot be guessed. It must be reported as passed, and in a second run, where it fails, as failed. If the
// base does not show both, the project's runner does not take such tests, and none are required.
//
// What this does not catch: code that runs everything honestly and then rewrites the result of one test that it knows
// by name. The only defence is that this code has to be in the change, where a reviewer sees it.

// A witness is one such test.
type witness struct {
	site  string // the directory that it is in
	token string // is in its name and nowhere else
}

// tokenSize is the length of a token in hexadecimal.
const tokenSize = 16

// maxSites bounds how many directories get a witness.
const maxSites = 400

// A language can write a test that fits next to existing ones.
type language struct {
	like  func(name, dir string) bool
	write func(neighbour string, text []byte, token string, fails bool) (name, body string, ok bool)
}

// The index of a language is part of stored keys: append new ones at the end.
var languages = []language{
	{goLike, goWitness},
	{nodeLike, nodeWitness},
	{pythonLike, pythonWitness},
	{phpLike, phpWitness},
	{rustLike, rustWitness},
	{batsLike, batsWitness},
	{shellLike, shellWitness},
}

// siteKey identifies a place for a witness: the language and the directory.
func siteKey(lang int, dir string) string { return fmt.Sprintf("%d:%s", lang, dir) }

// sites lists where the base has tests that a witness can be placed next to.
func sites(m *workspace.Manifest) []string {
	seen := map[string]bool{}
	for i := range m.Entries {
		e := &m.Entries[i]
		dir, name := path.Split(e.Path)
		if e.Kind != workspace.KindFile || passedOver(dir) {
			continue
		}
		for n, l := range languages {
			if l.like(name, dir) && len(seen) < maxSites {
				seen[siteKey(n, path.Clean(dir))] = true
			}
		}
	}
	return sorted(seen)
}

// passedOver reports whether test runners ignore a directory.
func passedOver(dir string) bool {
	for c := range strings.SplitSeq(strings.TrimSuffix(dir, "/"), "/") {
		if c == "testdata" || c == "vendor" || c == "node_modules" || strings.HasPrefix(c, "_") && c != "__tests__" || strings.HasPrefix(c, ".") && c != "." {
			return true
		}
	}
	return false
}

// plant writes a witness at each site where the tree still has tests.
func plant(tree string, places []string, fails bool) ([]witness, error) {
	root, err := os.OpenRoot(tree)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	var out []witness
	for _, s := range places {
		w, ok, err := plantOne(root, s, fails)
		if err != nil {
			return nil, fmt.Errorf("put a witness into %s: %w", s, err)
		}
		if ok {
			out = append(out, w)
		}
	}
	return out, nil
}

func plantOne(root *os.Root, site string, fails bool) (witness, bool, error) {
	number, dir, _ := strings.Cut(site, ":")
	n, err := strconv.Atoi(number)
	if err != nil || n < 0 || n >= len(languages) {
		return witness{}, false, nil //nolint:nilerr // a record of another version of deed
	}
	entries, err := fs.ReadDir(root.FS(), dir)
	if err != nil {
		return witness{}, false, nil //nolint:nilerr // there is no such directory any more: the tests that were there vanished, and are reported
	}
	var raw [tokenSize / 2]byte
	_, _ = rand.Read(raw[:])
	w := witness{site: site, token: hex.EncodeToString(raw[:])}
	for _, e := range entries {
		if !e.Type().IsRegular() || !languages[n].like(e.Name(), dir+"/") {
			continue
		}
		text, err := readHead(root, path.Join(dir, e.Name()))
		if err != nil {
			return w, false, err
		}
		name, body, ok := languages[n].write(e.Name(), text, w.token, fails)
		if !ok {
			continue
		}
		f, err := root.OpenFile(filepath.FromSlash(path.Join(dir, name)), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if err != nil {
			return w, false, err
		}
		_, err = io.WriteString(f, body)
		return w, true, errors.Join(err, f.Close())
	}
	return w, false, nil
}

// maxNeighbour bounds how much of an existing test is read to see how it is written.
const maxNeighbour = 1 << 20

func readHead(root *os.Root, name string) ([]byte, error) {
	f, err := root.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(io.LimitReader(f, maxNeighbour))
}

func goLike(name, _ string) bool {
	return strings.HasSuffix(name, "_test.go") && !strings.HasPrefix(name, "_") && !strings.HasPrefix(name, ".")
}

func goWitness(_ string, text []byte, tok string, fails bool) (string, string, bool) {
	f, err := parser.ParseFile(token.NewFileSet(), "", text, parser.PackageClauseOnly)
	if err != nil {
		return "", "", false
	}
	body := ""
	if fails {
		body = `t.Fatal("deed: this test has to fail")`
	}
	return "zz_" + tok + "_test.go", fmt.Sprintf("package %s\n\nimport witness \"testing\"\n\nfunc TestWitness%s(t *witness.T) { %s }\n", f.Name.Name, tok, body), true
}

// scriptExts are the extensions of files that the test runners of node accept.
var scriptExts = []string{".js", ".cjs", ".mjs", ".ts", ".cts", ".mts", ".jsx", ".tsx"}

func nodeLike(name, dir string) bool {
	if !slices.Contains(scriptExts, path.Ext(name)) || strings.HasSuffix(name, ".d.ts") {
		return false
	}
	if strings.Contains(name, ".test.") || strings.Contains(name, ".spec.") {
		return true
	}
	parent := path.Base(path.Clean(dir))
	return parent == "__tests__" || parent == "test"
}

// nodeWitness writes a test in the style of its neighbour: the same runner, the same kind of module, the same
// extension.
func nodeWitness(neighbour string, text []byte, tok string, fails bool) (string, string, bool) {
	end := path.Ext(neighbour)
	for _, mark := range []string{".test", ".spec"} {
		if i := strings.Index(neighbour, mark+"."); i >= 0 {
			end = neighbour[i:]
		}
	}
	from := ""
	for _, lib := range []string{"node:test", "vitest", "@jest/globals", "bun:test"} {
		if bytes.Contains(text, []byte("'"+lib+"'")) || bytes.Contains(text, []byte(`"`+lib+`"`)) {
			from = lib
			break
		}
	}
	module := slices.Contains([]string{".mjs", ".mts"}, path.Ext(neighbour)) || bytes.HasPrefix(text, []byte("import ")) || bytes.Contains(text, []byte("\nimport "))
	body := "const witness = globalThis.test || globalThis.it;\n"
	switch {
	case from != "" && module:
		body = fmt.Sprintf("import { test as witness } from '%s';\n", from)
	case from != "":
		body = fmt.Sprintf("const { test: witness } = require('%s');\n", from)
	}
	act := ""
	if fails {
		act = "throw new Error('deed: this test has to fail');"
	}
	return "zz-" + tok + end, body + fmt.Sprintf("witness('witness %s', () => { %s });\n", tok, act), true
}

func pythonLike(name, _ string) bool {
	return strings.HasSuffix(name, ".py") && (strings.HasPrefix(name, "test") || strings.HasSuffix(name, "_test.py"))
}

func pythonWitness(_ string, _ []byte, tok string, fails bool) (string, string, bool) {
	act := "pass"
	if fails {
		act = `self.fail("deed: this test has to fail")`
	}
	return "test_zz_" + tok + ".py", fmt.Sprintf("import unittest\n\n\nclass Witness%s(unittest.TestCase):\n    def test_%[1]s(self):\n        %s\n", tok, act), true
}

func phpLike(name, _ string) bool { return strings.HasSuffix(name, "Test.php") }

// phpWitness names the file after its class, as PHPUnit requires.
func phpWitness(_ string, text []byte, tok string, fails bool) (string, string, bool) {
	if !bytes.Contains(text, []byte("TestCase")) {
		return "", "", false
	}
	act := "$this->assertTrue(true);"
	if fails {
		act = "$this->fail('deed: this test has to fail');"
	}
	class := "Witness" + tok + "Test"
	return class + ".php", fmt.Sprintf("<?php\n\nfinal class %s extends \\PHPUnit\\Framework\\TestCase\n{\n    public function test%s(): void\n    {\n        %s\n    }\n}\n", class, tok, act), true
}

// rustLike matches the files that cargo builds a test program from: those directly in the tests directory of a crate.
// Below src such a directory holds modules.
func rustLike(name, dir string) bool {
	dir = path.Clean(dir)
	return path.Ext(name) == ".rs" && path.Base(dir) == "tests" && !strings.Contains("/"+dir+"/", "/src/")
}

func rustWitness(_ string, text []byte, tok string, fails bool) (string, string, bool) {
	if !bytes.Contains(text, []byte("#[")) {
		return "", "", false
	}
	act := ""
	if fails {
		act = ` panic!("deed: this test has to fail"); `
	}
	return "zz_" + tok + ".rs", fmt.Sprintf("#[test]\nfn witness_%s() {%s}\n", tok, act), true
}

func batsLike(name, _ string) bool { return path.Ext(name) == ".bats" }

func batsWitness(_ string, _ []byte, tok string, fails bool) (string, string, bool) {
	act := "true"
	if fails {
		act = "echo 'deed: this test has to fail'; false"
	}
	return "zz_" + tok + ".bats", fmt.Sprintf("@test \"witness %s\" {\n  %s\n}\n", tok, act), true
}

// shellSuffixes are the endings of scripts that are one test each.
var shellSuffixes = []string{".test.sh", "_test.sh"}

func shellLike(name, _ string) bool {
	return slices.ContainsFunc(shellSuffixes, func(end string) bool { return strings.HasSuffix(name, end) })
}

func shellWitness(neighbour string, _ []byte, tok string, fails bool) (string, string, bool) {
	end := shellSuffixes[slices.IndexFunc(shellSuffixes, func(end string) bool { return strings.HasSuffix(neighbour, end) })]
	act := "exit 0"
	if fails {
		act = "echo 'deed: this test has to fail'\nexit 1"
	}
	return "zz_" + tok + end, "#!/bin/sh\n" + act + "\n", true
}

// tokenIn finds the first token of a witness in a text, and -1 if there is none. It reads each byte once: a report
// may have a million tests, and there may be hundreds of witnesses.
func tokenIn(byToken map[string]int, text string) int {
	run := 0
	for i := range len(text) {
		if c := text[i]; '0' <= c && c <= '9' || 'a' <= c && c <= 'f' {
			run++
		} else {
			run = 0
		}
		if run >= tokenSize {
			if w, ok := byToken[text[i+1-tokenSize:i+1]]; ok {
				return w
			}
		}
	}
	return -1
}

// takeWitnesses removes the witnesses from a report, and returns the sites of those that were reported with the
// wanted status.
func takeWitnesses(r *runner.Report, ws []witness, status string) (seen []string) {
	if r == nil || len(ws) == 0 {
		return nil
	}
	reported := map[string]string{}
	byToken := make(map[string]int, len(ws))
	for i, w := range ws {
		byToken[w.token] = i
	}
	ours := func(text string) bool { return tokenIn(byToken, text) >= 0 }
	cases := r.TestCases[:0:0]
	var removed runner.TestResults
	for _, c := range r.TestCases {
		// A runner may list the file of a test as a test of its own, and so the witness twice.
		i := tokenIn(byToken, c.ID())
		if i < 0 {
			i = tokenIn(byToken, c.File)
		}
		if i < 0 {
			cases = append(cases, c)
			continue
		}
		if w := ws[i]; strings.Contains(c.Name, w.token) || reported[w.site] == "" {
			reported[w.site] = cmp.Or(map[bool]string{true: runner.CaseFailed}[reported[w.site] == runner.CaseFailed], c.Status)
		}
		one := tally([]runner.TestCase{c})
		removed.Total, removed.Passed, removed.Failed, removed.Skipped = removed.Total+1, removed.Passed+one.Passed, removed.Failed+one.Failed, removed.Skipped+one.Skipped
	}
	r.TestCases = cases
	if c := r.TestCounts; c != nil {
		n := *c
		n.Total, n.Passed = max(n.Total-removed.Total, 0), max(n.Passed-removed.Passed, 0)
		n.Failed, n.Skipped = max(n.Failed-removed.Failed, 0), max(n.Skipped-removed.Skipped, 0)
		r.TestCounts = &n
	}
	r.FailedTests = slices.DeleteFunc(r.FailedTests, func(f runner.FailedTest) bool { return ours(f.Name) || ours(f.Location) })
	r.Failures = slices.DeleteFunc(r.Failures, func(f runner.TestFailure) bool { return ours(f.TestName) || ours(f.TestFile) })
	for _, w := range ws {
		if reported[w.site] == status {
			seen = append(seen, w.site)
		}
	}
	return seen
}
