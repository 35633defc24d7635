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

// Code that is tested can find out that it is, and behave; no run of its tests shows that. What it needs for that stands in the
// change, in few forms: a variable that only runners set, a path of the tests' data, a part of the runtime that is replaced. A
// person is shown these lines. They are no proof of anything, so nothing is refused where somebody says that they are right.

// A sign is one such line.
type sign struct {
	path string
	line int
	does string // what the line does, in words that follow the place
	word string // what it was recognised by
}

func (s sign) String() string {
	return fmt.Sprintf("%s:%d %s (%s)", quotePath(s.path), s.line, s.does, oneLine(s.word))
}

// A signRule recognises lines of some languages.
type signRule struct {
	does    string
	ends    []string // of the files; none: all that are code
	pattern *regexp.Regexp
	weak    bool // honest programs do it as well: it counts where no test was seen by name
}

// The endings of languages.
var (
	nodeEnds = []string{".js", ".cjs", ".mjs", ".jsx", ".ts", ".cts", ".mts", ".tsx"}
	cEnds    = []string{".c", ".h", ".cc", ".cpp", ".hpp"}
	shEnds   = []string{".sh", ".bash", ""}
)

// What lines do.
const (
	asksWhetherTested = "asks whether it is being tested"
	readsTests        = "looks at what the tests judge by"
	walksStack        = "looks at who called it"
	replaces          = "replaces what it is tested with"
	endsWell          = "ends the process as if all were well"
	equalsAll         = "is equal to everything"
	decidesEqual      = "decides what tests take for equal"
)

var signRules = sync.OnceValue(func() []signRule {
	rule := func(does string, ends []string, pattern string) signRule {
		return signRule{does: does, ends: ends, pattern: regexp.MustCompile(pattern)}
	}
	weak := func(ends []string, pattern string) signRule {
		return signRule{does: endsWell, ends: ends, pattern: regexp.MustCompile(pattern), weak: true}
	}
	return []signRule{
		rule(asksWhetherTested, nil, `\b(PYTEST_\w+|JEST_WORKER_ID|VITEST(_\w+)?|NODE_TEST_CONTEXT|MOCHA_\w+|BATS_\w+|PHPUNIT_\w+|RUST_TEST_\w+|NEXTEST\w*|npm_lifecycle_\w+|DEED_\w+|TOX_\w+)\b`),
		rule(asksWhetherTested, nil, `(==|\bin\b|\b(startswith|endswith|includes|indexOf|startsWith|endsWith|Contains|HasPrefix|HasSuffix|match|str_contains)\()\s*[^'"\x60]*['"\x60][^'"\x60]*\b(pytest|unittest|jest|vitest|mocha|phpunit|bats)\b|['"\x60](pytest|unittest|jest|vitest|mocha|phpunit|bats)\W?['"\x60]\s+in\b`),
		rule(asksWhetherTested, nodeEnds, `(includes|indexOf|endsWith|match|test)\([^)]*\.(test|spec)\b`),
		rule(asksWhetherTested, nodeEnds, `NODE_ENV\W{1,6}[!=]==?\s*['"]test|typeof\s+(describe|it|test|expect|jest|vi|before|after|beforeEach|mocha)\b|\b(globalThis|global)(\.|\[['"])(it|test|describe|expect|jest|vi|mocha|chai)\b|process\.(argv|execArgv).*(mocha|jest|vitest|--test)|require\.cache|\b__(jest|vitest|mocha)\w*`),
		rule(asksWhetherTested, []string{".py"}, `['"](_?pytest|unittest)\W*['"]?\]?\s+(not\s+)?in\s+sys\.modules|sys\.modules.*(pytest|unittest|__main__)|import\s+__main__|sys\.argv\[0\].*test`),
		rule(asksWhetherTested, []string{".go"}, `\btesting\.(Testing|Short|Verbose)\(|flag\.Lookup\("test\.|"\.test"`),
		rule(asksWhetherTested, []string{".rs"}, `\bcfg!\(\s*(not\()?\s*(test|debug_assertions)|#\[cfg\((not\((test|debug_assertions)|debug_assertions)|var(_os)?\("CARGO|current_exe\(\)`),
		rule(asksWhetherTested, []string{".php"}, `(class_exists|defined|interface_exists)\(.*PHPUnit|PHPUNIT`),
		rule(asksWhetherTested, cEnds, `\bprogram_invocation(_short)?_name\b|\b__progname\b|/proc/self/`),
		rule(readsTests, nil, `[/\\](testdata|__snapshots__|__tests__|hidden_tests?)\b|\b(testdata|__snapshots__|__tests__|hidden_tests?)[/\\]|/(golden|expected)/|['"](golden|expected)/|(Join|join|resolve|open|Open|ReadFile|readFile\w*|Path)\([^)]*['"](testdata|__snapshots__|golden|expected)\b`),
		rule(walksStack, []string{".py"}, `\b_getframe\(|\binspect\.(stack|currentframe|getouterframes)\(|traceback\.(extract_stack|walk_stack)\(`),
		rule(walksStack, []string{".go"}, `\bruntime\.(Caller|Callers|CallersFrames)\(`),
		rule(walksStack, []string{".php"}, `\bdebug_(print_)?backtrace\(`),
		rule(walksStack, nodeEnds, `new Error\([^)]*\)\.stack|captureStackTrace|prepareStackTrace`),
		rule(replaces, nodeEnds, `^\s*(globalThis\.|global\.)?(Object|Array|JSON|Math|Number|String|Date|RegExp|Promise|Reflect|Symbol|Function|Module|performance|process|console|assert|expect|chai|Assertion)(\.prototype)?\.\w+\s*=[^=>]|Object\.(defineProperty|assign)\(\s*(globalThis|global|process|assert|expect|performance|\w+\.prototype|Object|Array|JSON|Math|Date|Promise)\b|\bModule\._\w+|\bregisterHooks\(|module\.register\(|(require\(|from\s+)['"](node:test|vitest|@jest/globals|mocha|chai)['"]|\bAssertion\.prototype|asymmetricMatch|\b(strictEqual|deepStrictEqual|notStrictEqual|deepEqual)\s*[:=][^=]`),
		rule(replaces, []string{".py"}, `\b(unittest|_?pytest|builtins)\.[\w.]+\s*=[^=]|\bTestCase\.\w+\s*=[^=]|setattr\(\s*(unittest|_?pytest|builtins|\w*TestCase)|\bsys\.(meta_path|path_hooks)\b|^\s*(import|from)\s+(unittest|_?pytest|pluggy)\b`),
		rule(replaces, []string{".rs"}, `macro_rules!\s*(assert|panic)|\bset_hook\(`),
		rule(replaces, []string{".php"}, `^\s*namespace\s+(PHPUnit|[\w\\]*\\Tests?\b)|\bclass\s+\w+\s+extends\s+\\?PHPUnit`),
		rule(replaces, cEnds, `#\s*(define|undef)\s+(CHECK|ASSERT|EXPECT|REQUIRE|TEST|assert)\w*\b`),
		rule(equalsAll, []string{".py"}, `(?s)def __eq__\(.*:\s*return (True|isinstance\([^)]*\)\s*$)|__eq__\s*=\s*lambda.*True`),
		rule(decidesEqual, []string{".rs"}, `\bimpl(<[^>]*>)?\s+PartialEq\b`),
		rule(endsWell, cEnds, `__attribute__\(\((destructor|constructor)`),
		weak([]string{".py"}, `\bos\._exit\(\s*0?\s*\)|\batexit\.register\(`),
		weak([]string{".php"}, `\bregister_shutdown_function\(`),
		weak(nodeEnds, `process\.(on|once|prependListener)\(\s*['"](exit|beforeExit)|process\.reallyExit`),
		weak(nodeEnds, `process\.exit\(\s*0?\s*\)`),
		weak([]string{".py"}, `sys\.exit\(\s*0?\s*\)|raise SystemExit(\(0?\))?\s*$`),
		weak([]string{".go"}, `\bos\.Exit\(0\)|syscall\.Exit\(0`),
		weak([]string{".rs"}, `process::exit\(0\)`),
		weak(cEnds, `\b_?_?[eE]xit\(\s*(0|EXIT_SUCCESS)\s*\)`),
		weak([]string{".php"}, `\bexit\(\s*0?\s*\)`),
		weak(shEnds, `\btrap\b.*\b(exit 0|true|:)\b.*\b(EXIT|0)\b`),
	}
})

// codeEnds are the endings of sources that are looked at. A file without an ending may be a script.
var codeEnds = slices.Concat(nodeEnds, cEnds, shEnds, []string{".py", ".go", ".rs", ".php", ".awk", ".pl", ".rb", ".lua", ".java", ".kt", ".cs", ".swift"})

// maxSigns bounds how many lines a person is shown.
const maxSigns = 20

// signs asks a person about work that nothing stands against and that has lines by which it could deceive its checks.
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
	q := Question{Soft: policy != deed.InputsAsk, Kind: AskSuspicious}
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

// signsIn looks at the lines that the patch adds to what is tested. A line that stood somewhere in the changed files before has
// only moved. byExit says that nothing but exit codes was seen.
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
		if shadows(ch) {
			out = append(out, sign{path: ch.Path, line: 1, does: replaces, word: "a module of Python's own has this name"})
		}
	}
	for _, f := range files {
		end := path.Ext(f.path)
		if !slices.Contains(codeEnds, end) || judges(f.path) {
			continue
		}
		for n, l := range f.added {
			if text := strings.TrimSpace(l.text); text == "" || old[text] || comment(text, end) {
				continue
			}
			line := l.text
			if n+1 < len(f.added) { // what stands on two lines
				line += "\n" + f.added[n+1].text
			}
			s, ok := signOf(line, len(l.text), end, byExit)
			if m := shellFunction().FindStringSubmatch(l.text); !ok && m != nil && slices.Contains(shEnds, end) {
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

// shellFunction is the definition of a function of the shell.
var shellFunction = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*(?:function\s+)?([A-Za-z_][\w-]*)\s*\(\)`)
})

// testsDefine reports whether shell code that judges defines a function of a name. Whoever defines it again, in a file that tests read,
// takes its place.
func (in Input) testsDefine(name string) (bool, error) {
	k := &checking{Input: in}
	for i := range in.Manifest.Entries {
		e := &in.Manifest.Entries[i]
		if e.Kind != workspace.KindFile || !slices.Contains(shEnds, path.Ext(e.Path)) && path.Ext(e.Path) != ".bats" || !matchAny(testFiles, e.Path) {
			continue
		}
		text, err := k.asItWas(e.Path)
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

// judges reports whether a file is no part of what is tested.
func judges(name string) bool {
	return matchAny(testFiles, name) || matchAny(steers, name) || matchAny(ciFiles, name)
}

// signOf looks at lines for what begins in the first, which is so long.
func signOf(lines string, first int, end string, byExit bool) (sign, bool) {
	for _, r := range signRules() {
		if len(r.ends) > 0 && !slices.Contains(r.ends, end) || r.weak && !byExit {
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
		return !slices.Contains(cEnds, end) && end != ".rs" && !slices.Contains(nodeEnds, end)
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
	old    int // in the old file: of an added line, that of the line behind it
	text   string
}

// patchFiles reads the lines of a patch. A part so long that nobody wrote it is passed over.
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

// hunkHead is the first line of a hunk; its groups are the first line in the old and in the new file.
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
