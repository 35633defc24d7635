package analysis

import (
	"regexp"
	"strings"
	"sync"

	"github.com/deedrun/deed/contract/runner"
)

// The categories of a cluster.
const (
	catFatal         = "fatal_error"
	catMissingMethod = "missing_method"
	catMissingClass  = "missing_class"
	catSignature     = "signature_change"
	catReturnType    = "return_type_change"
	catErrorCode     = "error_code_change"
	catMock          = "mock_error"
	catEnvironment   = "environment_error"
	catAssertion     = "assertion_mismatch"
	catOther         = "other"
)

// categories are asked in this order; the first that a message or an error's type matches is the category. It does not
// depend on the key: a cluster by one word can still be a matter of the environment.
var categories = sync.OnceValue(func() []rule {
	return []rule{
		compile(catFatal, `(?i)\bfatal\b|cannot redeclare|parse error|syntax ?error|ParseError|panic: |SIGSEGV|segmentation fault|\[build failed\]|could not compile|INTERNALERROR`),
		compile(catMissingMethod, `(?i)undefined (?:method|function)|has no (?:field or method|attribute)|is not a function|no method named|undefined: |is not defined|cannot find (?:function|value)|cannot import name`),
		compile(catMissingClass, `(?i)(?:class|interface|trait) ['"][^'"]+['"] not found|cannot find (?:type|struct|module|package)|no module named|is not a constructor`),
		compile(catSignature, `(?i)too (?:few|many) arguments|not enough arguments|ArgumentCountError|argument #?\d+ .*must be of type|positional arguments?|unexpected keyword argument|required positional|unknown named parameter`),
		compile(catReturnType, `(?i)return value must be of type|is an instance of|must be of type|cannot use .* as .* value|mismatched types`),
		compile(catErrorCode, `(?i)WP_Error\b.*['"][a-z][a-z0-9_]*['"]|\berror[_ ]code\b`),
		compile(catMock, `(?i)\bmock|\bstub|getMock|configure\(\)|jest\.fn\(\)`),
		compile(catEnvironment, `SQLITE|SQLite|(?i:mysql|postgres|\btable\b|\bdatabase\b|connection refused|ECONNREFUSED|no space left|permission denied|EACCES|no such host|ENOTFOUND|address already in use|EADDRINUSE|command not found|executable file not found)`),
		compile(catAssertion, `(?is)failed asserting|AssertionError|assertion|expect\(|\bgot\b.*\bwant|\bwant(?:ed)?\b.*\bgot\b|\bexpected\b|\bassert\b|Not equal`),
	}
})

var fatalTypes = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)fatal|ParseError|CompileError|panic`) })

func category(f runner.TestFailure) string {
	if fatalTypes().MatchString(f.ErrorType) {
		return catFatal
	}
	m := strings.ToValidUTF8(f.ErrorType+": "+f.Message, "\uFFFD")
	for _, r := range categories() {
		if r.re.MatchString(m) {
			return r.prefix
		}
	}
	return catOther
}
