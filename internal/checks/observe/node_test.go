package observe_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/internal/checks/testreport"
)

// The runners of node, each with the same four tests: one passes, one fails, one is skipped, and one stands in a suite.
var nodeRunners = []struct {
	name  string
	line  string
	files map[string]string
	want  []string
}{
	{
		name: "mocha", line: "mocha",
		files: map[string]string{"test/a.js": mochaTests},
		want:  []string{"failed test/a.js::bad", "passed test/a.js > outer inner::good", "passed test/a.js::good", "skipped test/a.js::off"},
	},
	{
		name: "mocha", line: "mocha --parallel --jobs 2 test/*.mjs",
		files: map[string]string{"test/a.mjs": mochaTests, "test/b.mjs": "it('other', () => {});\n"},
		want:  []string{"failed test/a.mjs::bad", "passed test/a.mjs > outer inner::good", "passed test/a.mjs::good", "passed test/b.mjs::other", "skipped test/a.mjs::off"},
	},
	{
		name: "jest", line: "jest",
		files: map[string]string{"a.test.js": mochaTests, "b.test.js": "throw new Error('cannot be loaded');\n"},
		want:  []string{"failed a.test.js::bad", "failed b.test.js::[load]", "passed a.test.js > outer > inner::good", "passed a.test.js::good", "skipped a.test.js::off"},
	},
	{ // a run in which all is well has nothing but its tests
		name: "jest", line: "jest --verbose",
		files: map[string]string{"a.test.js": "it('good', () => {});\n"},
		want:  []string{"passed a.test.js::good"},
	},
	{
		name: "jest", line: "jest --ci",
		files: map[string]string{"a.test.js": "it('good', () => { expect(1).toMatchSnapshot(); });\n", "__snapshots__/a.test.js.snap": "// Jest Snapshot v1, https://jestjs.io/docs/snapshot-testing\n\nexports[`good 1`] = `1`;\n\nexports[`old 1`] = `2`;\n"},
		want:  []string{"failed [suite]", "passed a.test.js::good"}, // a snapshot that no test has
	},
	{
		name: "vitest", line: "vitest run --reporter=dot",
		files: map[string]string{"a.test.js": "import { it } from 'vitest';\nit('good', () => {});\n"},
		want:  []string{"passed a.test.js::good"},
	},
	{
		name: "mocha", line: "mocha",
		files: map[string]string{"test/a.js": "it('good', () => {});\n"},
		want:  []string{"passed test/a.js::good"},
	},
	{
		name: "vitest", line: "vitest run",
		files: map[string]string{"a.test.js": "import { describe, it } from 'vitest';\n" + mochaTests, "b.test.js": "throw new Error('cannot be loaded');\n"},
		want:  []string{"failed a.test.js::bad", "failed b.test.js::[load]", "passed a.test.js > outer > inner::good", "passed a.test.js::good", "skipped a.test.js::off"},
	},
	{
		name: "vitest", line: "vitest run --pool=threads",
		files: map[string]string{"vitest.config.mjs": "export default { test: { globals: true, reporters: ['dot'] } };\n", "a.test.ts": mochaTests},
		want:  []string{"failed a.test.ts::bad", "passed a.test.ts > outer > inner::good", "passed a.test.ts::good", "skipped a.test.ts::off"},
	},
	{
		name: "node", line: "node --test",
		files: map[string]string{"a.test.js": "const { describe, it } = require('node:test');\n" + mochaTests, "b.test.mjs": "throw new Error('cannot be loaded');\n"},
		want:  []string{"failed b.test.mjs::[load]", "failed bad", "passed good", "passed outer > inner::good", "skipped off"},
	},
	{
		name: "node", line: "node a.test.mjs",
		files: map[string]string{"a.test.mjs": "import { describe, it } from 'node:test';\n" + mochaTests},
		want:  []string{"failed bad", "passed good", "passed outer > inner::good", "skipped off"},
	},
	{
		name: "ava", line: "ava",
		files: map[string]string{
			"package.json": `{"type": "module", "scripts": {"test": "ava"}, "ava": {"files": ["*.test.js"]}}`,
			"a.test.js":    "import test from 'ava';\ntest('good', (t) => t.pass());\ntest('bad', (t) => t.fail('no'));\ntest.skip('off', (t) => t.pass());\n",
			"b.test.js":    "throw new Error('cannot be loaded');\n",
		},
		want: []string{"failed a.test.js::bad", "failed b.test.js::[load]", "passed a.test.js::good", "skipped a.test.js::off"},
	},
	{
		name: "tap", line: "tap --allow-incomplete-coverage --disable-coverage --reporter=terse",
		files: map[string]string{
			"package.json":   `{"type": "module", "scripts": {"test": "tap --allow-incomplete-coverage --disable-coverage --reporter=terse"}}`,
			"test/a.test.js": "import t from 'tap';\nt.test('good', (t) => { t.pass('fine'); t.end(); });\nt.test('bad', (t) => { t.fail('no'); t.end(); });\nt.test('off', { skip: 'later' }, (t) => t.end());\n",
		},
		want: []string{"failed test/a.test.js", "failed test/a.test.js > bad::no", "failed test/a.test.js::bad", "passed test/a.test.js > good::fine", "passed test/a.test.js::good", "skipped test/a.test.js::off"},
	},
}

const mochaTests = `it('good', () => {});
it('bad', () => { throw new Error('no'); });
it.skip('off', () => {});
describe('outer', () => { describe('inner', () => { it('good', () => {}); }); });
`

func TestNodeRunners(t *testing.T) {
	t.Parallel()
	for _, c := range nodeRunners {
		t.Run(c.line, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, map[string]string{"package.json": `{"scripts": {"test": "` + c.line + `"}}`, "Makefile": ".PHONY: test\ntest:\n\tnpm test\n"})
			write(t, p.dir, c.files)
			p.runners(t)
			r, seen := p.observed(t, "true && make test") // make starts npm, which starts the runner
			if diff := cmp.Diff(c.want, results(seen.Cases)); diff != "" {
				t.Errorf("the tests are not what they should be:\n%s\n%s%s", diff, r.stdout, r.stderr)
			}
			if diff := cmp.Diff([]string{c.name}, seen.Runners); diff != "" {
				t.Errorf("runners: %s", diff)
			}
			if len(seen.Faults) > 0 {
				t.Errorf("faults: %q", seen.Faults)
			}
			if fails := strings.HasPrefix(c.want[0], "failed"); (r.code != 0) != fails {
				t.Errorf("the check ended with %d, and a test failed: %v", r.code, fails)
			}
		})
	}
}

// TestNodeNames holds the names against those of the reports that `deed test` reads.
func TestNodeNames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, line, plain, format string
		files                     map[string]string
	}{
		{"jest", "npx jest", "npx jest --json --outputFile=report.out", testreport.Jest, map[string]string{"a.test.js": mochaTests + "it.todo('later');\n"}},
		{"vitest", "npx vitest run", "npx vitest run --reporter=json --outputFile.json=report.out", testreport.Jest, map[string]string{"a.test.js": "import { describe, it } from 'vitest';\n" + mochaTests}},
		{"mocha", "npx mocha", "npx mocha --reporter json --reporter-option output=report.out", testreport.Mocha, map[string]string{"test/a.js": mochaTests + "describe('broken', () => { before(() => { throw new Error('hook'); }); it('never', () => {}); });\n"}},
		{"node", "node --test", "node --test --test-reporter=junit --test-reporter-destination=report.out", testreport.JUnit, map[string]string{
			"a.test.mjs": "import { describe, it, test, before } from 'node:test';\n" + mochaTests + `
describe('broken', () => { before(() => { throw new Error('hook'); }); it('never', () => {}); });
test('parent', async (t) => { await t.test('child', () => {}); await t.test('wrong', () => { throw new Error('no'); }); });
test('todo', { todo: true }, () => { throw new Error('not yet'); });
`,
			"sub/b.test.js": "require('node:assert').ok(true);\n",
			"sub/c.test.js": "throw new Error('load');\n",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, map[string]string{"package.json": "{}"})
			write(t, p.dir, c.files)
			p.runners(t)
			r := p.plain(t, c.plain)
			f, err := os.Open(filepath.Join(p.dir, "report.out"))
			if err != nil {
				t.Fatal(err, r)
			}
			defer func() { _ = f.Close() }()
			want, err := testreport.ParseAs(c.format, f)
			if err != nil {
				t.Fatal(err)
			}
			want.Locate(p.dir)
			r, seen := p.observed(t, c.line)
			if diff := cmp.Diff(results(want.Cases), results(seen.Cases)); diff != "" || len(want.Cases) < 4 {
				t.Errorf("the names differ: %s\n%s%s", diff, r.stdout, r.stderr)
			}
		})
	}
}

// TestNodeEarlyExit: code under test that ends the process leaves a report without an end, or a failure by name.
func TestNodeEarlyExit(t *testing.T) {
	t.Parallel()
	const leaving = "it('first', () => {});\nit('leaves', () => { process.exit(0); });\nit('bad', () => { throw new Error('no'); });\n"
	for _, c := range []struct {
		name, line string
		file, text string
	}{
		{"mocha", "mocha", "test/a.js", leaving},
		{"jest", "jest", "a.test.js", leaving},
		{"node", "node --test", "a.test.js", "const { it } = require('node:test');\n" + leaving},
		{"node", "node a.test.js", "a.test.js", "const { it } = require('node:test');\n" + leaving},
		{"vitest", "vitest run", "a.test.js", "import { it } from 'vitest';\n" + leaving},
		{"ava", "ava a.test.mjs", "a.test.mjs", "import test from 'ava';\ntest.serial('leaves', () => { process.exit(0); });\ntest.serial('bad', (t) => t.fail());\n"},
		{"tap", "tap --disable-coverage --allow-empty-coverage", "test/a.test.js", "const t = require('tap');\nt.test('leaves', () => { process.exit(0); });\nt.test('bad', (t) => { t.fail('no'); t.end(); });\n"},
	} {
		t.Run(c.line, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, map[string]string{"package.json": `{"scripts": {"test": "` + c.line + `"}}`, c.file: c.text})
			p.runners(t)
			r, seen := p.observed(t, "npm test")
			failed := strings.Contains(strings.Join(results(seen.Cases), "\n"), "failed ")
			if len(seen.Faults) == 0 && !failed {
				t.Errorf("nothing shows that the run ended early: %+v\n%s%s", seen, r.stdout, r.stderr)
			}
			t.Logf("exit %d, faults %q, %q", r.code, seen.Faults, results(seen.Cases))
			if len(seen.Runners) != 1 || seen.Runners[0] != c.name {
				t.Errorf("runners are %q", seen.Runners)
			}
		})
	}
}
