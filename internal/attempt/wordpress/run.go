package wordpress

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/codebox"
	"github.com/deedrun/deed/internal/attempt/component"
)

// Statuses of a Result.
const (
	StatusOK     = "ok"
	StatusError  = "error"  // an exception, or an error that WordPress returned
	StatusFatal  = "fatal"  // PHP ended with a fatal error
	StatusExited = "exited" // the code ended the process itself
	StatusNone   = "none"   // the process gave no answer: it was killed, or could not start
)

// administrator is the user with all rights in an installed WordPress. The site is disposable, and whether a caller
// may use an ability is decided before it runs.
const administrator = 1

// A Result is the outcome of an invocation, as reported by the code that ran.
type Result struct {
	Status string           `json:"status"`
	Value  json.RawMessage  `json:"value,omitempty"`
	Error  *Problem         `json:"error,omitempty"`
	Output component.Output `json:"-"` // stdout is without deed's own line

	done  map[string]answer // of activations, by plugin file
	doing string
}

// A Problem is an error in PHP, and where it happened.
type Problem struct {
	Class   string `json:"class"`
	Code    string `json:"code,omitempty"`
	Message string `json:"message"`
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
}

func (p *Problem) String() string {
	s := p.Class + ": " + p.Message
	if p.Code != "" {
		s = p.Code + ": " + p.Message
	}
	if p.File != "" {
		s += fmt.Sprintf(" (%s:%d)", p.File, p.Line)
	}
	return s
}

// An Invocation is a command that runs with WordPress loaded, and how to read its answer.
type Invocation struct {
	Command component.Command
	mark    string
}

type request struct {
	Mark    string          `json:"mark"`
	Op      string          `json:"op"`
	Code    string          `json:"code,omitempty"`
	File    string          `json:"file,omitempty"`
	Args    []string        `json:"args,omitempty"`
	Plugins []string        `json:"plugins,omitempty"`
	Name    string          `json:"name,omitempty"`
	Input   json.RawMessage `json:"input,omitempty"`
	User    int             `json:"user,omitempty"`
	Check   bool            `json:"check,omitempty"`
}

// A PHP is PHP code to run: its text, or a file inside the sandbox.
type PHP struct {
	Code string
	File string // absolute
	Args []string
}

// ParsePHP reads the arguments of the command wordpress.run-php: code=TEXT or code-file=PATH, then arguments for it
// after --.
func ParsePHP(args []string) (PHP, error) {
	var p PHP
	var codes, files int
	for i, a := range args {
		name, value, _ := strings.Cut(a, "=")
		switch {
		case a == "--":
			p.Args = slices.Clone(args[i+1:])
			return p, p.check(codes, files)
		case name == "code":
			p.Code = value
			codes++
		case name == "code-file":
			p.File = value
			files++
		default:
			return PHP{}, fmt.Errorf("read the arguments of wordpress.run-php: %.80q is not known (use code=TEXT or code-file=PATH)", a)
		}
	}
	return p, p.check(codes, files)
}

func (p PHP) check(codes, files int) error {
	switch {
	case codes+files != 1:
		return errors.New("read the arguments of wordpress.run-php: give one code=TEXT or one code-file=PATH")
	case files == 1 && !path.IsAbs(p.File):
		return fmt.Errorf("read the arguments of wordpress.run-php: code-file %.80q is not absolute (write its path inside the sandbox)", p.File)
	case codes == 1 && strings.TrimSpace(p.Code) == "":
		return errors.New("read the arguments of wordpress.run-php: code is empty")
	}
	return nil
}

// PHP runs code with WordPress loaded. Its return value is the result's value.
func (s *Site) PHP(p PHP) Invocation { return s.invoke(p.request()) }

// Check runs code that judges. It fails by an exception, an error, false, or by not reaching its end; its result has
// no value.
func (s *Site) Check(p PHP) Invocation {
	r := p.request()
	r.Check = true
	return s.invoke(r)
}

func (p PHP) request() request {
	if p.File != "" {
		return request{Op: "file", File: p.File, Args: p.Args}
	}
	return request{Op: "code", Code: p.Code, Args: p.Args}
}

// Ability runs an ability that is registered with WordPress's Abilities API, as administrator.
func (s *Site) Ability(name string, input json.RawMessage) Invocation {
	return s.invoke(request{Op: "ability", Name: name, Input: input, User: administrator})
}

// AbilityFile runs an ability that is a PHP file of a component: it returns a function of the input.
func (s *Site) AbilityFile(file string, input json.RawMessage) Invocation {
	return s.invoke(request{Op: "ability-file", File: file, Input: input, User: administrator})
}

// invoke builds the command. The request goes through standard input: code and input have no size limit there, and no
// list of processes shows them.
func (s *Site) invoke(r request) Invocation {
	r.Mark = "deed-result-" + random()[:32] + ":"
	stdin, err := json.Marshal(r)
	if err != nil { // an input that is not JSON; PHP then reports that it has no request
		stdin = nil
	}
	return Invocation{
		Command: component.Command{
			Argv:  s.php("boot.php"),
			Dir:   component.WordPressDir,
			Env:   s.env(),
			Stdin: stdin,
		},
		mark: r.Mark,
	}
}

// php is the command that runs one of deed's own files. Errors go to standard error, whatever php.ini says.
func (s *Site) php(file string) []string {
	return []string{
		cmp.Or(s.opt.PHP, "php"), "-d", "display_errors=stderr", "-d", "log_errors=0", "-d", "html_errors=0", "-d", "variables_order=EGPCS",
		path.Join(runTarget, file),
	}
}

// env is the environment of every command. For a duplicate name, the last entry counts.
func (s *Site) env() []string {
	env := []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/tmp", "TMPDIR=/tmp", "LANG=C.UTF-8"}
	env = append(env, s.opt.Env...)
	return append(env, "WP_AGENT_RUNTIME=1")
}

type answer struct {
	Status string            `json:"status"`
	Value  json.RawMessage   `json:"value"`
	Error  *Problem          `json:"error"`
	Done   map[string]answer `json:"done"`
	Doing  string            `json:"doing"`
}

// Read extracts the answer from the output of a command.
func (i Invocation) Read(out component.Output) Result {
	res := Result{Status: StatusNone, Output: out}
	at := bytes.LastIndex(out.Stdout, []byte("\n"+i.mark))
	if at < 0 {
		return res
	}
	line, rest, _ := bytes.Cut(out.Stdout[at+1+len(i.mark):], []byte("\n"))
	var a answer
	if err := json.Unmarshal(line, &a); err != nil {
		return res
	}
	res.Output.Stdout = append(slices.Clone(out.Stdout[:at]), rest...)
	res.Status, res.Value, res.Error, res.done, res.doing = a.Status, a.Value, a.Error, a.Done, a.Doing
	if res.Status != StatusOK {
		res.Value = nil
	}
	// Code that printed a good answer and then ended badly did not succeed.
	if res.Status == StatusOK && (out.ExitCode != 0 || out.TimedOut) {
		res.Status, res.Value = StatusExited, nil
	}
	return res
}

// Do runs an invocation.
func (i Invocation) Do(ctx context.Context, run component.Runner) (Result, error) {
	out, err := run(ctx, i.Command)
	if err != nil {
		return Result{Status: StatusNone, Output: out}, fmt.Errorf("run PHP: %w", err)
	}
	return i.Read(out), nil
}

// A Boot is what the first start of a site showed.
type Boot struct {
	WordPress string   `json:"wordpress"`
	PHP       string   `json:"php"`
	Abilities bool     `json:"abilities"` // WordPress, or a component, has the Abilities API
	Runs      []Result `json:"-"`         // evidence: one, and one more for each activation that ended PHP
}

// ErrBoot says that WordPress did not start with the components of the run. The Boot has the evidence.
var ErrBoot = errors.New("WordPress did not start")

// Boot starts WordPress once, activates the plugins that ask for it, and updates the records of the components. A
// plugin that fails to activate is recorded and is no error: WordPress runs without it. A component that keeps
// WordPress from starting at all is ErrBoot.
func (s *Site) Boot(ctx context.Context, run component.Runner, records []codebox.ComponentContractResult) (Boot, error) {
	var wait []string
	for _, p := range s.opt.Plugins {
		if p.Activate && p.File != "" {
			wait = append(wait, p.File)
		}
	}
	var b Boot
	for {
		res, err := s.invoke(request{Op: "activate", Plugins: wait, User: administrator}).Do(ctx, run)
		if err != nil {
			return b, err
		}
		b.Runs = append(b.Runs, res)
		for file, a := range res.done {
			s.settle(records, file, a)
		}
		at := slices.Index(wait, res.doing)
		if res.Status == StatusOK {
			component.Mounted(records)
			return b, b.read(res.Value)
		}
		if at < 0 {
			return b, s.blame(records, res)
		}
		// The plugin that was being activated ended PHP. It is not active, so the next start does without it.
		s.settle(records, res.doing, answer{Status: res.Status, Error: res.Error})
		wait = wait[at+1:]
	}
}

func (b *Boot) read(value json.RawMessage) error {
	var v struct {
		WordPress string `json:"wordpress"`
		PHP       string `json:"php"`
		Abilities bool   `json:"abilities"`
	}
	if err := json.Unmarshal(value, &v); err != nil {
		return fmt.Errorf("%w: its answer is not readable: %w", ErrBoot, err)
	}
	b.WordPress, b.PHP, b.Abilities = v.WordPress, v.PHP, v.Abilities
	return nil
}

// settle records how an activation ended.
func (s *Site) settle(records []codebox.ComponentContractResult, file string, a answer) {
	for _, p := range s.opt.Plugins {
		if p.File != file || p.Record >= len(records) {
			continue
		}
		r := &records[p.Record]
		if a.Status == StatusOK {
			r.Status, r.ActivationStatus = codebox.ComponentActivated, codebox.ActivationActivated
			continue
		}
		r.ActivationStatus = codebox.ActivationFailed
		fail(r, codebox.ComponentPhaseActivate, a.Status, a.Error)
	}
}

func fail(r *codebox.ComponentContractResult, phase, status string, p *Problem) {
	f := codebox.ComponentFailure{Phase: phase, Code: "php_" + status, Message: "PHP ended without saying why"}
	if p != nil {
		f.Message = p.String()
		if p.Code != "" {
			f.Code = p.Code
		}
	}
	r.Status = codebox.ComponentFailed
	r.Failures = append(r.Failures, f)
}

// blame finds the component that kept WordPress from starting, by the file in which PHP ended.
func (s *Site) blame(records []codebox.ComponentContractResult, res Result) error {
	what := "PHP ended with status " + res.Status
	if res.Error != nil {
		what = res.Error.String()
		for _, p := range append(slices.Clone(s.opt.MUPlugins), s.opt.Plugins...) {
			if p.Record < len(records) && strings.HasPrefix(res.Error.File, p.Target+"/") {
				fail(&records[p.Record], codebox.ComponentPhaseLoad, res.Status, res.Error)
				what = "component " + p.Slug + ": " + what
			}
		}
	}
	if res.Output.TimedOut {
		what += ", after its time was up"
	}
	return fmt.Errorf("%w: %s", ErrBoot, what)
}
