package exectrace

import (
	"path"
	"slices"
	"strings"
)

// An interpreter is a program that executes what another file says. Its options are here as far as they tell where that
// file stands among the arguments: letters for short options, names for long ones.
type interpreter struct {
	names []string

	code   string // the program stands on the command line: no file is interpreted
	script string // the value names the file that is interpreted
	also   string // the value names a file that is interpreted before it
	value  string // any other value, in the same argument or the next
	rest   string // a value in the same argument alone, which may be empty
	next   string // a value in the next argument alone, wherever the letter stands
	dir    string // the value is the directory to change to
	stdin  string // standard input is interpreted
	module string // the value names a module

	codeLong, scriptLong, alsoLong, valueLong, dirLong []string

	single     bool     // long options begin with one dash, in any case of letters
	plus       bool     // options begin with a plus as well
	verbs      []string // words before the script
	noOperand  bool     // the first operand is no script
	fromStdin  bool     // without a script, standard input is interpreted
	defaults   []string // files that are interpreted when no option names one; the first that is there
	extensions []string // what may be missing at the end of the name
}

// interpreters are looked up by the base name of the program, without a version at its end.
var interpreters = []interpreter{
	{names: []string{"sh", "bash", "dash", "ash", "rbash", "zsh", "ksh", "mksh", "yash"}, code: "c", next: "oO", stdin: "s", valueLong: []string{"rcfile", "init-file"}, plus: true, fromStdin: true},
	{names: []string{"fish"}, code: "c", value: "Cdof", codeLong: []string{"command"}, valueLong: []string{"init-command", "features", "debug", "debug-output", "profile", "profile-startup"}, fromStdin: true},
	{names: []string{"python", "pypy", "pythonw"}, code: "c", module: "m", value: "WXQ", valueLong: []string{"check-hash-based-pycs"}, fromStdin: true},
	{
		names: []string{"node", "nodejs"}, code: "ep", also: "r", value: "C", codeLong: []string{"eval", "print", "run"},
		alsoLong: []string{"require", "import", "loader", "experimental-loader"},
		valueLong: []string{
			"conditions", "cpu-prof-dir", "cpu-prof-name", "diagnostic-dir", "disable-warning", "dns-result-order", "env-file", "env-file-if-exists", "experimental-default-type",
			"heap-prof-dir", "heap-prof-name", "icu-data-dir", "input-type", "localstorage-file", "max-http-header-size", "openssl-config", "redirect-warnings", "report-dir", "report-directory",
			"report-filename", "secure-heap", "test-concurrency", "test-coverage-exclude", "test-coverage-include", "test-global-setup", "test-isolation", "test-name-pattern", "test-reporter",
			"test-reporter-destination", "test-shard", "test-skip-pattern", "test-timeout", "title", "trace-event-categories", "trace-event-file-pattern", "unhandled-rejections", "watch-path",
		},
		verbs: []string{"inspect"}, fromStdin: true, extensions: []string{".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", "/index.js"},
	},
	{names: []string{"bun"}, code: "ep", also: "r", value: "c", codeLong: []string{"eval", "print"}, alsoLong: []string{"preload", "require", "import"}, dirLong: []string{"cwd"}, valueLong: []string{"config", "env-file", "tsconfig-override"}, verbs: []string{"run"}, extensions: []string{".ts", ".tsx", ".js", ".mjs"}},
	{names: []string{"deno"}, value: "cL", valueLong: []string{"config", "import-map", "log-level", "cert", "lock", "seed", "env-file"}, verbs: []string{"run"}, fromStdin: true},
	{names: []string{"ts-node", "tsx"}, code: "ep", also: "r", value: "PO", codeLong: []string{"eval", "print"}, alsoLong: []string{"require", "import"}, valueLong: []string{"project", "tsconfig", "cwd"}, extensions: []string{".ts", ".js"}},
	{names: []string{"php", "php-cgi"}, code: "rRBE", script: "fF", value: "cdzSt", codeLong: []string{"run", "process-code", "process-begin", "process-end"}, scriptLong: []string{"file", "process-file"}, valueLong: []string{"define", "php-ini", "zend-extension", "server", "docroot"}, fromStdin: true},
	{names: []string{"perl"}, code: "eE", value: "I", rest: "CDFMVdimx", fromStdin: true},
	{names: []string{"ruby", "jruby", "truffleruby"}, code: "e", also: "r", value: "IE", dir: "CX", rest: "FKix", valueLong: []string{"encoding", "external-encoding", "internal-encoding", "enable", "disable"}, fromStdin: true, extensions: []string{".rb"}},
	{names: []string{"lua", "luajit", "texlua"}, value: "el", fromStdin: true},
	{names: []string{"tclsh", "wish"}, valueLong: []string{"encoding"}, single: true, fromStdin: true},
	{names: []string{"expect"}, script: "f", value: "c", rest: "D", fromStdin: true},
	{names: []string{"Rscript"}, code: "e"},
	{names: []string{"julia"}, code: "eE", also: "L", value: "JHptC", codeLong: []string{"eval", "print"}, alsoLong: []string{"load"}, valueLong: []string{"home", "sysimage", "threads", "procs"}},
	{names: []string{"groovy"}, code: "e", value: "cDlp"},
	{names: []string{"pwsh", "powershell"}, codeLong: []string{"command", "c", "encodedcommand", "ec", "e"}, scriptLong: []string{"file", "f"}, valueLong: []string{"executionpolicy", "ex", "ep", "workingdirectory", "wd", "outputformat", "o", "inputformat", "configurationname", "settingsfile", "version", "v", "windowstyle", "w"}, single: true},
	{names: []string{"awk", "gawk", "mawk", "nawk", "original-awk"}, script: "fE", also: "i", code: "e", value: "vFl", scriptLong: []string{"file", "exec"}, codeLong: []string{"source"}, valueLong: []string{"assign", "field-separator", "load"}, noOperand: true},
	{names: []string{"sed", "gsed"}, script: "f", code: "e", value: "l", rest: "i", scriptLong: []string{"file"}, codeLong: []string{"expression"}, valueLong: []string{"line-length"}, noOperand: true},
	{names: []string{"make", "gmake", "bmake", "remake"}, script: "f", dir: "C", value: "IoWE", rest: "jlOd", scriptLong: []string{"file", "makefile"}, dirLong: []string{"directory"}, valueLong: []string{"include-dir", "old-file", "assume-old", "what-if", "new-file", "assume-new", "eval"}, noOperand: true, defaults: []string{"GNUmakefile", "makefile", "Makefile"}},
	{names: []string{"just"}, script: "f", dir: "d", scriptLong: []string{"justfile"}, dirLong: []string{"working-directory"}, valueLong: []string{"set", "shell", "shell-arg", "dotenv-path", "dotenv-filename", "color"}, noOperand: true, defaults: []string{"justfile", "Justfile", ".justfile"}},
}

// findInterpreter returns the row of a program, or nil. A version at the end of the name does not matter.
func findInterpreter(name string) *interpreter {
	bare := strings.TrimRight(strings.TrimPrefix(name, "-"), "0123456789.-")
	for i := range interpreters {
		if slices.Contains(interpreters[i].names, bare) {
			return &interpreters[i]
		}
	}
	return nil
}

// A script is what an interpreter is asked to execute.
type script struct {
	path    string
	dir     string // relative to the working directory; what path is relative to
	module  bool   // path is the name of a module
	stdin   bool   // it is standard input; path is empty
	operand bool   // it is the first operand, and the operands that follow are its own
	anyOf   []string

	extensions []string
}

// scripts reads the arguments of a program, with its name in front, and returns what it is asked to interpret. A program that is
// not an interpreter interprets nothing.
func scripts(name string, argv []string) []script {
	if name == "busybox" || name == "toybox" {
		if len(argv) < 2 {
			return nil
		}
		name, argv = path.Base(argv[1]), argv[1:]
	}
	in := findInterpreter(name)
	if in == nil || len(argv) == 0 {
		return nil
	}
	r := reader{in: in, args: argv[1:]}
	r.read()
	for i := range r.found {
		r.found[i].dir, r.found[i].extensions = r.dir, in.extensions
	}
	return r.found
}
