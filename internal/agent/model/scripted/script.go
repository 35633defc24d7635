// Package scripted owns a model that does what a script says: a server on loopback that speaks the interfaces of OpenAI
// (Responses and Chat Completions), Anthropic and Ollama well enough for the real agent programs, and answers with scripted
// words, tool calls and failures. It is for tests, demonstrations and trying deed without a model; it judges nothing and
// its answers depend on the script and the conversation alone.
package scripted

import (
	_ "embed"
	"errors"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/deedrun/deed/contract/fault"
)

// Schema is the schema id of a script.
const Schema = "deed/model-script/v1"

// Bounds of a script.
const (
	maxScript    = 4 << 20
	maxSteps     = 10_000
	maxDelay     = 10 * time.Minute
	maxCalls     = 64
	maxScenarios = 1000
)

// DemoName is the name by which Load gives the script that deed ships.
const DemoName = "demo"

//go:embed demo.yaml
var demo []byte

// A Script is a set of scenarios. A request chooses one by its URL, /s/NAME/…, or by a model name that contains scn-NAME;
// without either it gets the scenario "default", or the only one. NAME may be followed by ~TAG: faults are counted for each
// tag by itself, so that two conversations can use one scenario.
type Script struct {
	Schema    string              `yaml:"schema"`
	Usage     *Usage              `yaml:"usage"` // of every answer; absent: DefaultUsage
	Scenarios map[string]Scenario `yaml:"scenarios"`
}

// A Scenario is what the model does in one conversation. Exactly one of Turns and Steps is set.
//
// A turn begins with words of the user, or with the result of a completion: the prompt begins the first, the reasons of a
// refused completion the second. Each turn has its list of steps; when there are more turns than lists the last list serves again. Within a turn the step is
// chosen by how many answers with tool calls were already followed by their results, so the server needs no memory and any
// number of agents can ask. A step that is asked for beyond the end of its list is the last one again.
type Scenario struct {
	Turns [][]Step `yaml:"turns"`
	Steps []Step   `yaml:"steps"` // of the first turn, and of all others
	// On is looked at first: the first entry whose text is in the words of the turn's user serves instead.
	On []Branch `yaml:"on"`
	// Aside answers a request that advertises no tools although the scenario calls some: agents ask for titles and summaries
	// on the side. Absent: "ok".
	Aside   string `yaml:"aside"`
	Workdir string `yaml:"workdir"` // for agents that want absolute paths; absent: found in the conversation
	Usage   *Usage `yaml:"usage"`
}

// A Branch is a list of steps for a turn whose words contain a text.
type Branch struct {
	Contains string `yaml:"contains"`
	Steps    []Step `yaml:"steps"`
}

// A Step is one answer, or one fault. A fault does not take the place of an answer: it stands before the one that follows
// it, and is served as often as Times says, or always.
type Step struct {
	// An answer: any of these.
	Thinking string           `yaml:"thinking"`
	Text     string           `yaml:"text"`
	Call     `yaml:",inline"` // one tool call
	Calls    []Call           `yaml:"calls"` // several
	Stop     string           `yaml:"stop"`  // end, tools, length or refused; absent: what the answer is
	Usage    *Usage           `yaml:"usage"`

	// A fault: one of these.
	Error   any    `yaml:"error"`   // a status of HTTP, or context_too_long
	Hang    string `yaml:"hang"`    // headers: nothing ever comes; stream: the answer begins and stands still
	Cut     bool   `yaml:"cut"`     // the answer breaks off in the middle
	Garbage string `yaml:"garbage"` // html: a page instead of an answer; sse: a stream of nonsense

	Times      int    `yaml:"times"`       // 0: always
	RetryAfter any    `yaml:"retry_after"` // of an error: seconds or a date, sent as it is
	Message    string `yaml:"message"`     // of an error
	Code       string `yaml:"code"`        // of an error

	DelayMS int `yaml:"delay_ms"` // before the answer or the fault
}

// A Call is a tool call. Tool is one of the general names, which are translated into what the agent offers, or the very
// name of a tool with its Input.
type Call struct {
	Tool    string `yaml:"tool"`    // shell, read, write, edit, apply_patch, complete, ask, or a name
	Command string `yaml:"command"` // of shell
	Path    string `yaml:"path"`    // of read, write, edit
	Content string `yaml:"content"` // of write
	Old     string `yaml:"old"`     // of edit
	New     string `yaml:"new"`     // of edit
	Patch   string `yaml:"patch"`   // of apply_patch
	Summary string `yaml:"summary"` // of complete
	// Question is that of ask.
	Question  string         `yaml:"question"`
	Input     map[string]any `yaml:"input"`     // of any other tool, or further members
	Arguments string         `yaml:"arguments"` // the arguments as raw text, valid or not
}

// Usage is what an answer is said to have cost. Input includes Cached and CacheWrite.
type Usage struct {
	Input      int64 `yaml:"input"`
	Cached     int64 `yaml:"cached"`
	CacheWrite int64 `yaml:"cache_write"`
	Output     int64 `yaml:"output"`
	Reasoning  int64 `yaml:"reasoning"`
}

// DefaultUsage makes it visible where usage ends up.
var DefaultUsage = Usage{Input: 1100, Cached: 100, Output: 21, Reasoning: 7}

// tooLong is the word for the error of a conversation that does not fit.
const tooLong = "context_too_long"

// Load reads a script from a file, or the one that deed ships: see DemoName.
func Load(path string) (Script, error) {
	if path == DemoName {
		return Parse(demo)
	}
	info, err := os.Stat(path)
	if err != nil {
		return Script{}, fmt.Errorf("read the script: %w", err)
	}
	if !info.Mode().IsRegular() || info.Size() > maxScript {
		return Script{}, fmt.Errorf("script %s: it is not a file of at most %d bytes", path, maxScript)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return Script{}, fmt.Errorf("read the script: %w", err)
	}
	s, err := Parse(data)
	if err != nil {
		return Script{}, fmt.Errorf("script %s: %w", path, err)
	}
	return s, nil
}

// Parse reads a script, YAML or JSON. It is strict: a member that is not known is an error.
func Parse(data []byte) (Script, error) {
	var s Script
	if len(data) > maxScript {
		return s, fmt.Errorf("a script has at most %d bytes", maxScript)
	}
	if err := yaml.UnmarshalWithOptions(data, &s, yaml.Strict()); err != nil {
		return Script{}, errors.New(yaml.FormatError(err, false, true))
	}
	if err := s.Validate(); err != nil {
		return Script{}, err
	}
	return s, nil
}

var scenarioName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9]([a-z0-9_.-]*[a-z0-9])?$`) })

// Validate returns all that is wrong with the script.
func (s Script) Validate() error {
	var l fault.List
	if s.Schema != Schema {
		l.Add("$.schema", fault.WrongSchema, fmt.Sprintf("is %q", s.Schema), "write "+Schema)
	}
	if n := len(s.Scenarios); n == 0 || n > maxScenarios {
		l.Add("$.scenarios", fault.OutOfRange, fmt.Sprintf("has %d entries", n), fmt.Sprintf("give 1 to %d", maxScenarios))
	}
	s.Usage.check(&l, "$.usage")
	for name, sc := range s.Scenarios {
		path := fault.Field("$.scenarios", name)
		if !scenarioName().MatchString(name) {
			l.Add(path, fault.BadFormat, fmt.Sprintf("the name %q cannot be in a URL", name), "use small letters, digits, - _ and .")
		}
		sc.check(&l, path)
	}
	return l.Err()
}

func (u *Usage) check(l *fault.List, path string) {
	if u == nil {
		return
	}
	for _, n := range []int64{u.Input, u.Cached, u.CacheWrite, u.Output, u.Reasoning} {
		if n < 0 || n > math.MaxInt32 {
			l.Add(path, fault.OutOfRange, fmt.Sprintf("has a number %d", n), "give 0 or more")
		}
	}
	if u.Cached+u.CacheWrite > u.Input {
		l.Add(path+".cached", fault.Conflict, "cached and cache_write are more than input", "input includes both")
	}
	if u.Reasoning > u.Output {
		l.Add(path+".reasoning", fault.Conflict, "is more than output", "output includes it")
	}
}

func (sc Scenario) check(l *fault.List, path string) {
	if (len(sc.Turns) > 0) == (len(sc.Steps) > 0) {
		l.Add(path, fault.Conflict, "needs either turns or steps", "give one list of steps, or a list of lists")
	}
	sc.Usage.check(l, path+".usage")
	checkSteps(l, path+".steps", sc.Steps)
	for i, turn := range sc.Turns {
		at := fault.Index(path+".turns", i)
		if len(turn) == 0 {
			l.Add(at, fault.Blank, "has no steps", "give at least one")
		}
		checkSteps(l, at, turn)
	}
	for i, b := range sc.On {
		at := fault.Index(path+".on", i)
		if b.Contains == "" {
			l.Add(at+".contains", fault.Blank, "is empty", "give the text to look for")
		}
		if len(b.Steps) == 0 {
			l.Add(at+".steps", fault.Blank, "has no steps", "give at least one")
		}
		checkSteps(l, at+".steps", b.Steps)
	}
}

func checkSteps(l *fault.List, path string, steps []Step) {
	if len(steps) > maxSteps {
		l.Add(path, fault.OutOfRange, fmt.Sprintf("has %d steps", len(steps)), fmt.Sprintf("give at most %d", maxSteps))
		return
	}
	for i, s := range steps {
		s.check(l, fault.Index(path, i))
	}
}

func (s Step) check(l *fault.List, path string) {
	faults := 0
	for _, set := range []bool{s.Error != nil, s.Hang != "", s.Cut, s.Garbage != ""} {
		if set {
			faults++
		}
	}
	answers := s.Thinking != "" || s.Text != "" || s.Tool != "" || len(s.Calls) > 0 || s.Stop != ""
	switch {
	case faults > 1, faults == 1 && answers:
		l.Add(path, fault.Conflict, "is more than one thing", "give either an answer or one of error, hang, cut and garbage")
	case faults == 0 && !answers:
		l.Add(path, fault.MissingField, "does nothing", "give text, tool, calls, thinking, stop, error, hang, cut or garbage")
	}
	if s.Error != nil {
		if _, ok := s.status(); !ok {
			l.Add(path+".error", fault.OutOfRange, fmt.Sprintf("is %v", s.Error), "give a status from 400 to 599, or "+tooLong)
		}
	} else if s.RetryAfter != nil || s.Message != "" || s.Code != "" {
		l.Add(path, fault.Conflict, "has retry_after, message or code without error", "they belong to an error")
	}
	oneOf(l, path+".hang", s.Hang, "headers", "stream")
	oneOf(l, path+".garbage", s.Garbage, "html", "sse")
	oneOf(l, path+".stop", s.Stop, "end", "tools", "length", "refused")
	if s.Times < 0 || s.Times > 0 && faults == 0 {
		l.Add(path+".times", fault.OutOfRange, fmt.Sprintf("is %d", s.Times), "give 1 or more, for a fault")
	}
	if d := time.Duration(s.DelayMS) * time.Millisecond; s.DelayMS < 0 || d > maxDelay {
		l.Add(path+".delay_ms", fault.OutOfRange, fmt.Sprintf("is %d", s.DelayMS), fmt.Sprintf("give 0 to %d", maxDelay.Milliseconds()))
	}
	s.Usage.check(l, path+".usage")
	s.checkCalls(l, path)
}

func (s Step) checkCalls(l *fault.List, path string) {
	if s.Tool != "" || s.Call.hasArguments() {
		s.Call.check(l, path)
	}
	if len(s.Calls) > maxCalls {
		l.Add(path+".calls", fault.OutOfRange, fmt.Sprintf("has %d calls", len(s.Calls)), fmt.Sprintf("give at most %d", maxCalls))
	}
	for i, c := range s.Calls {
		c.check(l, fault.Index(path+".calls", i))
	}
}

func (c Call) hasArguments() bool {
	return c.Command+c.Path+c.Content+c.Old+c.New+c.Patch+c.Summary+c.Question+c.Arguments != "" || c.Input != nil
}

// needs are the members without which a general tool cannot be called.
var needs = map[string][]string{
	"shell": {"command"}, "read": {"path"}, "write": {"path"}, "edit": {"path", "old"}, "apply_patch": {"patch"},
	"complete": nil, "ask": {"question"},
}

func (c Call) check(l *fault.List, path string) {
	if c.Tool == "" {
		l.Add(path+".tool", fault.MissingField, "is missing", "name the tool")
		return
	}
	if c.Arguments != "" {
		return
	}
	given := map[string]string{
		"command": c.Command, "path": c.Path, "old": c.Old, "patch": c.Patch, "question": c.Question,
	}
	for _, name := range needs[c.Tool] {
		if given[name] == "" {
			l.Add(path+"."+name, fault.MissingField, "is missing", "the tool "+c.Tool+" needs it")
		}
	}
}

func oneOf(l *fault.List, path, value string, allowed ...string) {
	if value != "" && !slices.Contains(allowed, value) {
		l.Add(path, fault.NotAllowed, fmt.Sprintf("is %q", value), fmt.Sprintf("write one of %v", allowed))
	}
}

// status is the status of an error step.
func (s Step) status() (int, bool) {
	text := fmt.Sprint(s.Error)
	if text == tooLong {
		return 400, true
	}
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= 400 && n <= 599
}

func (s Step) isFault() bool { return s.Error != nil || s.Hang != "" || s.Cut || s.Garbage != "" }

// calls returns all tool calls of an answer.
func (s Step) calls() []Call {
	if s.Tool == "" {
		return s.Calls
	}
	return append([]Call{s.Call}, s.Calls...)
}

// usesTools reports whether any step of the scenario calls a tool.
func (sc Scenario) usesTools() bool {
	lists := append([][]Step{sc.Steps}, sc.Turns...)
	for _, b := range sc.On {
		lists = append(lists, b.Steps)
	}
	for _, list := range lists {
		if slices.ContainsFunc(list, func(s Step) bool { return len(s.calls()) > 0 }) {
			return true
		}
	}
	return false
}
