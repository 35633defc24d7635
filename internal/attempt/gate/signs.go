package gate

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

// Code can detect that it is under test and behave differently; no run of its tests shows that. The code that does so
// is in the change, and takes few forms: it reads a variable that only test runners set, opens the tests' data, or
// replaces a part of the runtime. Such lines are shown to a person. They prove nothing, so if somebody says that they
// are fine, the work is not rejected for them.

// A sign is one such line.
type sign struct {
	path string
	line int
	does string // what the line does, in words that follow its position
	word string // the text that matched
}

func (s sign) String() string {
	return fmt.Sprintf("%s:%d %s (%s)", quotePath(s.path), s.line, s.does, oneLine(s.word))
}

// A signRule matches lines of some languages.
type signRule struct {
	does    string
	exts    []string // of the files; none: all source files
	pattern *regexp.Regexp
	weak    bool // honest programs do it too: it counts only if no test was seen by name
}

// Filename extensions by language.
var (
	nodeExts = []string{".js", ".cjs", ".mjs", ".jsx", ".ts", ".cts", ".mts", ".tsx"}
	cExts    = []string{".c", ".h", ".cc", ".cpp", ".hpp"}
	shExts   = []string{".sh", ".bash", ""}
)

// What lines do.
const (
	asksWhetherTested = "asks whether it is being tested"
	readsTests        = "looks at what the tests judge by"
	walksStack        = "looks at who called it"
	replaces          = "replaces what it is tested with"
	exitsCleanly      = "ends the process as if all were well"
	equalsAll         = "is equal to everything"
	decidesEqual      = "decides what tests take for equal"
)

var signRules = sync.OnceValue(func() []signRule {
	rule := func(does string, exts []string, pattern string) signRule {
		return signRule{does: does, exts: exts, pattern: regexp.MustCompile(pattern)}
	}
	weak := func(exts []string, pattern string) signRule {
		return signRule{does: exitsCleanly, exts: exts, pattern: regexp.MustCompile(pattern), weak: true}
	}
	return []signRule{
		rule(asksWhetherTested, nil, `\b(PYTEST_\w+|JEST_WORKER_ID|VITEST(_\w+)?|NODE_TEST_CONTEXT|MOCHA_\w+|BATS_\w+|PHPUNIT_\w+|RUST_TEST_\w+|NEXTEST\w*|npm_lifecycle_\w+|DEED_\w+|TOX_\w+)\b`),
		rule(asksWhetherTested, nil, `(==|\bin\b|\b(startswith|endswith|includes|indexOf|startsWith|endsWith|Contains|HasPrefix|HasSuffix|match|str_contains)\()\s*[^'"\x60]*['"\x60][^'"\x60]*\b(pytest|unittest|jest|vitest|mocha|phpunit|bats)\b|['"\x60](pytest|unittest|jest|vitest|mocha|phpunit|bats)\W?['"\x60]\s+in\b`),
		rule(asksWhetherTested, nodeExts, `(includes|indexOf|endsWith|match|test)\([^)]*\.(test|spec)\b`),
		rule(asksWhetherTested, nodeExts, `NODE_ENV\W{1,6}[!=]==?\s*['"]test|typeof\s+(describe|it|test|expect|jest|vi|before|after|beforeEach|mocha)\b|\b(globalThis|global)(\.|\[['"])(it|test|describe|expect|jest|vi|mocha|chai)\b|process\.(argv|execArgv).*(mocha|jest|vitest|--test)|require\.cache|\b__(jest|vitest|mocha)\w*`),
		rule(asksWhetherTested, []string{".py"}, `['"](_?pytest|unittest)\W*['"]?\]?\s+(not\s+)?in\s+sys\.modules|sys\.modules.*(pytest|unittest|__main__)|import\s+__main__|sys\.argv\[0\].*test`),
		rule(asksWhetherTested, []string{".go"}, `\btesting\.(Testing|Short|Verbose)\(|flag\.Lookup\("test\.|"\.test"`),
		rule(asksWhetherTested, []string{".rs"}, `\bcfg!\(\s*(not\()?\s*(test|debug_assertions)|#\[cfg\((not\((test|debug_assertions)|debug_assertions)|var(_os)?\("CARGO|current_exe\(\)`),
		rule(asksWhetherTested, []string{".php"}, `(class_exists|defined|interface_exists)\(.*PHPUnit|PHPUNIT`),
		rule(asksWhetherTested, cExts, `\bprogram_invocation(_short)?_name\b|\b__progname\b|/proc/self/`),
		rule(readsTests, nil, `[/\\](testdata|__snapshots__|__tests__|hidden_tests?)\b|\b(testdata|__snapshots__|__tests__|hidden_tests?)[/\\]|/(golden|expected)/|['"](golden|expected)/|(Join|join|resolve|open|Open|ReadFile|readFile\w*|Path)\([^)]*['"](testdata|__snapshots__|golden|expected)\b`),
		rule(walksStack, []string{".py"}, `\b_getframe\(|\binspect\.(stack|currentframe|getouterframes)\(|traceback\.(extract_stack|walk_stack)\(`),
		rule(walksStack, []string{".go"}, `\bruntime\.(Caller|Callers|CallersFrames)\(`),
		rule(walksStack, []string{".php"}, `\bdebug_(print_)?backtrace\(`),
		rule(walksStack, nodeExts, `new Error\([^)]*\)\.stack|captureStackTrace|prepareStackTrace`),
		rule(replaces, nodeExts, `^\s*(globalThis\.|global\.)?(Object|Array|JSON|Math|Number|String|Date|RegExp|Promise|Reflect|Symbol|Function|Module|performance|process|console|assert|expect|chai|Assertion)(\.prototype)?\.\w+\s*=[^=>]|Object\.(defineProperty|assign)\(\s*(globalThis|global|process|assert|expect|performance|\w+\.prototype|Object|Array|JSON|Math|Date|Promise)\b|\bModule\._\w+|\bregisterHooks\(|module\.register\(|(require\(|from\s+)['"](node:test|vitest|@jest/globals|mocha|chai)['"]|\bAssertion\.prototype|asymmetricMatch|\b(strictEqual|deepStrictEqual|notStrictEqual|deepEqual)\s*[:=][^=]`),
		rule(replaces, []string{".py"}, `\b(unittest|_?pytest|builtins)\.[\w.]+\s*=[^=]|\bTestCase\.\w+\s*=[^=]|setattr\(\s*(unittest|_?pytest|builtins|\w*TestCase)|\bsys\.(meta_path|path_hooks)\b|^\s*(import|from)\s+(unittest|_?pytest|pluggy)\b`),
		rule(replaces, []string{".rs"}, `macro_rules!\s*(assert|panic)|\bset_hook\(`),
		rule(replaces, []string{".php"}, `^\s*namespace\s+(PHPUnit|[\w\\]*\\Tests?\b)|\bclass\s+\w+\s+extends\s+\\?PHPUnit`),
		rule(replaces, cExts, `#\s*(define|undef)\s+(CHECK|ASSERT|EXPECT|REQUIRE|TEST|assert)\w*\b`),
		rule(equalsAll, []string{".py"}, `(?s)def __eq__\(.*:\s*return (True|isinstance\([^)]*\)\s*$)|__eq__\s*=\s*lambda.*True`),
		rule(decidesEqual, []string{".rs"}, `\bimpl(<[^>]*>)?\s+PartialEq\b`),
		rule(exitsCleanly, cExts, `__attribute__\(\((destructor|constructor)`),
		weak([]string{".py"}, `\bos\._exit\(\s*0?\s*\)|\batexit\.register\(`),
		weak([]string{".php"}, `\bregister_shutdown_function\(`),
		weak(nodeExts, `process\.(on|once|prependListener)\(\s*['"](exit|beforeExit)|process\.reallyExit`),
		weak(nodeExts, `process\.exit\(\s*0?\s*\)`),
		weak([]string{".py"}, `sys\.exit\(\s*0?\s*\)|raise SystemExit(\(0?\))?\s*$`),
		weak([]string{".go"}, `\bos\.Exit\(0\)|syscall\.Exit\(0`),
		weak([]string{".rs"}, `process::exit\(0\)`),
		weak(cExts, `\b_?_?[eE]xit\(\s*(0|EXIT_SUCCESS)\s*\)`),
		weak([]string{".php"}, `\bexit\(\s*0?\s*\)`),
		weak(shExts, `\btrap\b.*\b(exit 0|true|:)\b.*\b(EXIT|0)\b`),
	}
})

// codeExts are the extensions of sources that are searched. A file without an extension may be a script.
var codeExts = slices.Concat(nodeExts, cExts, shExts, []string{".py", ".go", ".rs", ".php", ".awk", ".pl", ".rb", ".lua", ".java", ".kt", ".cs", ".swift"})

// maxSigns bounds how many lines a person is shown.
const maxSigns = 20

// signs asks a person about work that would be accepted, if the change has lines that could deceive its checks.
func (v *verdict) signs(ctx context.Context, in Input) error {
	i := slices.IndexFunc(v.checks, func(c deed.CheckResult) bool { return !c.Advisory && c.Grade != "" })
	if len(v.reasons) > 0 || i < 0 || in.Changes.Empty() {
		return nil
	}
	_, observed := grade(v.checks)
	found, err := signsIn(in, observed == deed.ObservedExitCode)
	if err != nil || len(found) == 0 {
		return err
	}
	policy := in.Spec.Checks[i].OnChangedInputs
	q := Question{Optional: policy != deed.InputsAsk, Kind: AskSuspicious}
	for _, s := range found {
		q.Failing = append(q.Failing, s.String())
		name := workspace.TextPath(s.path)
		if !slices.ContainsFunc(q.Changed, func(c deed.ChangedInput) bool { return c.Path == name }) {
			q.Changed = append(q.Changed, deed.ChangedInput{Path: name, Status: string(statusOf(in.Changes, s.path))})
		}
	}
	allowed, by := policy == deed.InputsRerunPinned, "the task, which asks nobody"
	if !allowed && policy != deed.InputsRefuse && in.Ask != nil {
		if allowed, by, err = in.Ask(ctx, in.Spec.Checks[i], q); err != nil {
			return err
		}
	}
	for _, s := range found {
		if allowed {
			v.note(CodeSuspicious, s.path, "%s: allowed by %s", s, by)
		} else {
			v.reject(CodeSuspicious, s.path, "%s", s)
		}
	}
	if !allowed {
		v.reject(CodeNeedsPerson, "", "the checks pass, and lines of the change could make them pass without the work being done: a person has to look at these, or they have to go")
	}
	return nil
}

func statusOf(changes workspace.ChangeSet, name string) workspace.Status {
	for _, c := range changes.Changes {
		if c.Path == name {
			return c.Status
		}
	}
	return ""
}

// signsIn searches the lines that the patch adds to code under test. A line that some changed file had before has
// only moved. byExit says that only exit codes were observed.
func signsIn(in Input, byExit bool) ([]sign, error) {
	files, err := patchFiles(in.Patch)
	if err != nil {
		return nil, err
	}
	old := map[string]bool{}
	for _, f := range files {
		for _, l := range f.removed {
			old[strings.TrimSpace(l.text)] = true
		}
	}
	var out []sign
	for _, ch := range in.Changes.Of(workspace.ClassTracked) {
		if shadowsStdlib(ch) {
			out = append(out, sign{path: ch.Path, line: 1, does: replaces, word: "a module of Python's own has this name"})
		}
	}
	for _, f := range files {
		end := path.Ext(f.path)
		if !slices.Contains(codeExts, end) || notUnderTest(f.path) {
			continue
		}
		for n, l := range f.added {
			if text := strings.TrimSpace(l.text); text == "" || old[text] || comment(text, end) {
				continue
			}
			line := l.text
			if n+1 < len(f.added) { // for an expression that spans two lines
				line += "\n" + f.added[n+1].text
			}
			s, ok := signOf(line, len(l.text), end, byExit)
			if m := shellFunction().FindStringSubmatch(l.text); !ok && m != nil && slices.Contains(shExts, end) {
				if ok, err = in.testsDefine(m[1]); err != nil {
					return nil, err
				}
				s = sign{does: replaces, word: m[1] + "()"}
			}
			if ok && len(out) < maxSigns {
				s.path, s.line = f.path, l.number
				out = append(out, s)
			}
		}
	}
	return out, nil
}

// shellFunction matches the definition of a shell function.
var shellFunction = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*(?:function\s+)?([A-Za-z_][\w-]*)\s*\(\)`)
})

// testsDefine reports whether the shell code of the tests defines a function of this name. If the change defines it
// again in a file that tests source, the new definition wins.
func (in Input) testsDefine(name string) (bool, error) {
	k := &evaluation{Input: in}
	for i := range in.Manifest.Entries {
		e := &in.Manifest.Entries[i]
		if e.Kind != workspace.KindFile || !slices.Contains(shExts, path.Ext(e.Path)) && path.Ext(e.Path) != ".bats" || !matchAny(testFiles, e.Path) {
			continue
		}
		text, err := k.readBase(e.Path)
		if err != nil {
			return false, err
		}
		for line := range bytes.Lines(text) {
			if m := shellFunction().FindSubmatch(line); m != nil && string(m[1]) == name {
				return true, nil
			}
		}
	}
	return false, nil
}

// notUnderTest reports whether a file is not part of the code under test.
func notUnderTest(name string) bool {
	return matchAny(testFiles, name) || matchAny(steeringFiles, name) || matchAny(ciFiles, name)
}

// signOf searches a line, together with the one after it, for a match that begins in the first; first is the length
// of that line.
func signOf(lines string, first int, end string, byExit bool) (sign, bool) {
	for _, r := range signRules() {
		if len(r.exts) > 0 && !slices.Contains(r.exts, end) || r.weak && !byExit {
			continue
		}
		if m := r.pattern.FindStringIndex(lines); m != nil && m[0] < first {
			return sign{does: r.does, word: strings.TrimSpace(lines[m[0]:m[1]])}, true
		}
	}
	return sign{}, false
}

// comment reports whether a line is nothing but a comment.
func comment(text, end string) bool {
	if strings.HasPrefix(text, "#") {
		return !slices.Contains(cExts, end) && end != ".rs" && !slices.Contains(nodeExts, end)
	}
	return strings.HasPrefix(text, "//") || strings.HasPrefix(text, "/*") || strings.HasPrefix(text, "* ")
}

// A patchFile is what a patch does to one file.
type patchFile struct {
	path           string
	added, removed []patchLine
}

type patchLine struct {
	number int // in the new file
	old    int // in the old file; for an added line, that of the next line
	text   string
}

// patchFiles reads the lines of a patch. A part too long to have been written by hand is skipped.
func patchFiles(name string) ([]patchFile, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	parts, err := workspace.SplitPatch(f)
	if err != nil {
		return nil, err
	}
	var out []patchFile
	for _, p := range parts {
		if p.End-p.Start > maxManifest {
			continue
		}
		text, err := io.ReadAll(io.NewSectionReader(f, p.Start, p.End-p.Start))
		if err != nil {
			return nil, err
		}
		out = append(out, linesOf(p.Path, string(text)))
	}
	return out, nil
}

// hunkHead matches the first line of a hunk. Its groups are the first line numbers in the old and in the new file.
var hunkHead = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^@@ -(\d+)\S* \+(\d+)`) })

func linesOf(name, text string) patchFile {
	out := patchFile{path: name}
	old, at, inside := 0, 0, false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if m := hunkHead().FindStringSubmatch(line); m != nil {
			old, _ = strconv.Atoi(m[1])
			at, _ = strconv.Atoi(m[2])
			inside = true
			continue
		}
		if !inside || line == "" {
			continue
		}
		switch line[0] {
		case '+':
			out.added = append(out.added, patchLine{number: at, old: old, text: line[1:]})
			at++
		case '-':
			out.removed = append(out.removed, patchLine{number: at, old: old, text: line[1:]})
			old++
		case ' ':
			old, at = old+1, at+1
		case 'd': // the next part begins
			inside = false
		}
	}
	return out
}
