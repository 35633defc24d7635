package gate

import (
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/deedrun/deed/internal/evidence/workspace"
)

// testLibraries matches, by extension, how a source imports what only tests use. Such a file supports tests whatever
// its name: it may hold assertions that tests share.
var testLibraries = sync.OnceValue(func() map[string]*regexp.Regexp {
	node := regexp.MustCompile(`(?m)(from|require\(|import)\s*['"](node:test|vitest|@jest/globals|mocha|chai|sinon|ava|tap|expect|supertest)['"]`)
	python := regexp.MustCompile(`(?m)^\s*(import|from)\s+(pytest|unittest|hypothesis|nose)\b`)
	c := regexp.MustCompile(`(?m)^\s*#\s*include\s*[<"]([^>"]*/)?(check|cmocka|catch|catch2/[^>"]*|doctest|gtest/[^>"]*|gmock/[^>"]*|unity|criterion/[^>"]*)(\.h|\.hpp)?[>"]`)
	return map[string]*regexp.Regexp{
		".go": regexp.MustCompile(`(?m)^(import)?\s*([\w.]+ )?"(testing|testing/[a-z]+|net/http/httptest|github\.com/stretchr/testify/.*|gotest\.tools/.*|github\.com/onsi/.*)"`),
		".js": node, ".cjs": node, ".mjs": node, ".ts": node, ".cts": node, ".mts": node, ".jsx": node, ".tsx": node,
		".py":  python,
		".php": regexp.MustCompile(`(?m)^\s*(use\s+|abstract class .*extends\s+)\\?PHPUnit\\`),
		".c":   c, ".h": c, ".cc": c, ".cpp": c, ".hpp": c,
	}
})

// helperNames matches names of directories and files that often hold what tests share, but other things too. There, a
// source that makes assertions counts as support for tests.
var helperNames = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(^|[/_.-])(support|helpers?|checks?|assert(ions?)?|expect|testing|spec)([/_.-]|$)`)
})

var assertions = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)['"](node:)?assert(/strict)?['"]|^\s*(import|from)\s+(pytest|unittest)\b|"testing"|AssertionError|PHPUnit|\bassert\s*\(|^\s*fail\b`)
})

// maxSupport bounds how much of a source is read to see what it uses. Imports are at its beginning.
const maxSupport = 256 << 10

// support returns the changed files that, on the base, used what only tests use.
func (k *evaluation) support() ([]string, error) {
	var out []string
	for _, ch := range k.unprotectedChanges().Of(workspace.ClassTracked) {
		uses := testLibraries()[path.Ext(ch.Path)]
		if helperNames().MatchString(ch.Path) {
			uses = assertions()
		}
		if uses == nil || ch.Status == workspace.Added || matchAny(testFiles, ch.Path) || !literal(ch.Path) {
			continue
		}
		text, err := k.readBase(ch.Path)
		if err != nil {
			return nil, err
		}
		if uses.Match(text) {
			out = append(out, ch.Path)
		}
	}
	return out, nil
}

// readBase reads the beginning of a file of the base; nil if the base has no regular file of that name.
func (k *evaluation) readBase(name string) ([]byte, error) {
	e := k.Manifest.Find(name)
	if e == nil || e.Kind != workspace.KindFile {
		return nil, nil
	}
	dir, err := k.Base.Dir()
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	f, err := root.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(io.LimitReader(f, maxSupport))
}

// literal reports whether a path matches only itself when used as a glob.
func literal(name string) bool { return !strings.ContainsAny(name, `*?[]{}\`) }
