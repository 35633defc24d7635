package analysis

import (
	"path"
	"regexp"
	"strings"
	"sync"

	"github.com/deedrun/deed/contract/runner"
)

// A rule takes failures whose message it matches. The key is prefix and the groups that took part, or, where the pattern
// has no group, prefix and the normal form of the message.
type rule struct {
	prefix string
	re     *regexp.Regexp
}

func compile(prefix, pattern string) rule { return rule{prefix, regexp.MustCompile(pattern)} }

// The rules of the runner contract come first, in its order: a cluster's id is what people put into their own lists.
var contractRules = sync.OnceValue(func() []rule {
	return []rule{
		compile("missing_method", `(?i)undefined method ['"\x60]?([\w\\]+(?:::|->)\w+)`),
		compile("missing_class", `(?i)\b(?:class|interface|trait) ['"]([\w\\]+)['"] not found`),
		compile("missing_function", `(?i)undefined function ['"\x60]?([\w\\]+)`),
		compile("fatal_redeclare", `(?i)cannot redeclare ['"\x60]?(?:function |class )?([\w\\:]+)`),
		compile("wrong_type", `is an instance of (?:class |interface )?"([^"]+)"`),
	}
})

var (
	wpError = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`WP_Error\b[^'"]{0,80}['"]([a-z][a-z0-9_]*)['"]`)
	})
	// The rules for the messages of other languages, for what the contract has no rule for.
	otherRules = sync.OnceValue(func() []rule {
		return []rule{
			// Go.
			compile("missing_method", `\(type \*?([\w./]+) has no field or method (\w+)`),
			compile("missing_function", `\bundefined: ([\w.]+)`),
			compile("nil_dereference", `(nil pointer dereference)`),
			compile("timeout", `(?i)panic: (test timed out)`),
			compile("data_race", `WARNING: (DATA RACE)`),
			compile("type_error", `cannot use .* \(.*\) as (\S+) value in`),
			compile("signature", `(not enough|too many) arguments in call to ([\w.]+)`),
			// JavaScript and TypeScript.
			compile("missing_module", `Cannot find (?:module|package) '([^']+)'`),
			compile("missing_method", `(?:TypeError: )?([\w$.()]+) is not a (?:function|constructor)`),
			compile("missing_function", `ReferenceError: ([\w$]+) is not defined`),
			compile("nil_dereference", `Cannot read propert(?:y|ies) (?:'([\w$]+)' )?of (?:undefined|null)(?: \(reading '([\w$]+)'\))?`),
			compile("timeout", `(?i)(?:exceeded timeout|test timed out) (?:of|in) (\d+) ?ms`),
			compile("snapshot", `(toMatch(?:Inline)?Snapshot|Snapshot \x60[^\x60]+\x60 mismatched)`),
			// Python.
			compile("missing_method", `'([\w.]+)' object has no attribute '(\w+)'`),
			compile("missing_function", `module '([\w.]+)' has no attribute '(\w+)'`),
			compile("missing_module", `No module named '([\w.]+)'`),
			compile("missing_function", `cannot import name '(\w+)' from '([\w.]+)'`),
			compile("missing_function", `NameError: name '(\w+)' is not defined`),
			compile("signature", `([\w.]+)\(\) (?:takes|missing|got an unexpected)`),
			compile("missing_fixture", `fixture '(\w+)' not found`),
			// Rust.
			compile("missing_method", `no (?:method|function or associated item) named \x60(\w+)\x60 found for (?:struct|enum|type|reference|trait) \x60&?([\w:]+)`),
			compile("missing_function", `cannot find (?:function|value|macro) \x60(\w+)\x60`),
			compile("missing_class", `cannot find (?:type|struct, variant or union type) \x60(\w+)\x60`),
			compile("nil_dereference", `called \x60(Option::unwrap|Result::unwrap|Option::expect|Result::expect)\(\)\x60 on`),
		}
	})
)

// key says which cluster a failure belongs to.
func key(f runner.TestFailure) string {
	m := strings.ToValidUTF8(f.Message, "\uFFFD")
	for _, r := range contractRules() {
		if k, ok := r.key(m); ok {
			return k
		}
	}
	low := strings.ToLower(m)
	if strings.Contains(low, "failed asserting") {
		if kind := assertion(low); kind != "" {
			return "assertion_mismatch::" + kind + "::" + normal(m)
		}
	}
	if found := wpError().FindStringSubmatch(m); found != nil {
		return "wp_error::" + found[1]
	}
	switch {
	case strings.Contains(low, "must be of type"):
		return "type_error::" + normal(m)
	case strings.Contains(m, "mock"), strings.Contains(m, "stub"), strings.Contains(m, "MockObject"):
		return "mock_error::" + normal(m)
	case strings.Contains(m, "configure()"), strings.Contains(m, "getMock"):
		return "mock_config::" + normal(m)
	}
	if isPHP(f) {
		return errorType(f) + "::" + normal(m)
	}
	return otherKey(f, plain(m))
}

// otherKey is the key of a failure in a language that the contract does not speak of.
func otherKey(f runner.TestFailure, m string) string {
	for _, r := range otherRules() {
		if k, ok := r.key(m); ok {
			return k
		}
	}
	if kind := comparison(m); kind != "" {
		return "assertion_mismatch::" + kind + "::" + normal(values().ReplaceAllString(m, "_"))
	}
	if _, text, ok := strings.Cut(m, "panic: "); ok {
		return "panic::" + normal(text)
	}
	return errorType(f) + "::" + normal(m)
}

func (r rule) key(m string) (string, bool) {
	found := r.re.FindStringSubmatch(m)
	if found == nil {
		return "", false
	}
	k := r.prefix
	for _, g := range found[1:] {
		if g != "" {
			k += "::" + strings.ReplaceAll(g, "->", "::")
		}
	}
	return k, true
}

// assertion is the kind of an assertion that PHPUnit says failed.
func assertion(low string) string {
	for _, k := range []string{"identical", "expected", "true", "false", "null"} {
		if strings.Contains(low, k) {
			return k
		}
	}
	return ""
}

var comparisons = sync.OnceValue(func() []rule {
	return []rule{
		compile("equal", `(?is)\bgot\b.*\bwant(?:ed)?\b|\bwant(?:ed)?\b.*\bgot\b|\bexpected\b.*\b(?:got|actual|received|but was)\b|Not equal:`),
		compile("equal", `expect\(received\)\.(?:not\.)?(?:toBe|toEqual|toStrictEqual)\(`),
		compile("match", `expect\(received\)\.(?:not\.)?to\w+\(|expect\(jest\.fn\(\)\)`),
		compile("equal", `AssertionError.*(?:==|!=|to (?:deeply |strictly )?equal|to be)|assert .* == `),
		compile("equal", `assertion \x60?(?:left == right|left != right)\x60? failed|assertion failed: \x60?\(?left [!=]= right`),
		compile("condition", `AssertionError|assertion failed|\bassert\b`),
	}
})

// comparison is the kind of a comparison that failed.
func comparison(m string) string {
	for _, r := range comparisons() {
		if r.re.MatchString(m) {
			return r.prefix
		}
	}
	return ""
}

func errorType(f runner.TestFailure) string {
	if f.ErrorType == "" {
		return "unknown"
	}
	return strings.ReplaceAll(strings.ToValidUTF8(f.ErrorType, "\uFFFD"), `\`, "_")
}

// maxNormal is how many characters of a message count. Upstream cuts bytes, and falls over a character of two.
const maxNormal = 80

var underscored = strings.NewReplacer("/", "_", `\`, "_", `"`, "_", "'", "_", ":", "_", ".", "_", " ", "_")

// normal is the form of a message by which messages are compared.
func normal(m string) string {
	return strings.ToLower(underscored.Replace(cut(collapse(m), maxNormal)))
}

// isPHP reports whether the contract's own rules are meant for a failure: by its files, or by the class of its error.
func isPHP(f runner.TestFailure) bool {
	for _, p := range []string{f.TestFile, f.SourceFile} {
		if p != "" {
			return path.Ext(p) == ".php"
		}
	}
	return f.ErrorType == "" || strings.Contains(f.ErrorType, `\`) || strings.HasPrefix(f.ErrorType, "PHPUnit")
}

var (
	ansi   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("\x1b\\[[0-9;]*[A-Za-z]") })
	places = sync.OnceValue(func() *regexp.Regexp {
		// A place in a file, a temporary path, an address, an identifier, a duration: they differ from run to run or from
		// test to test, and say nothing about the cause.
		return regexp.MustCompile(`[\w./\\-]+\.\w{1,4}:\d+(?::\d+)?:?|/(?:tmp|var/folders|private/tmp)/\S+|0x[0-9a-fA-F]+|[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|\(?\b\d+(?:\.\d+)?(?:ns|µs|ms|s)\b\)?`)
	})
	values = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\x60[^\x60]*\x60|-?\b\d+(?:\.\d+)?\b`)
	})
)

// plain takes out what differs without meaning.
func plain(m string) string {
	return collapse(places().ReplaceAllString(ansi().ReplaceAllString(m, ""), ""))
}
