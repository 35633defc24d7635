//go:build linux

package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/deedrun/deed/internal/agent/driver/drivertest"
	"github.com/deedrun/deed/internal/agent/model/scripted"
)

// overheadTurns is how often the model answers in a run: a cheap tool call each time, and the end.
const overheadTurns = 10

// paces are how long the scripted model takes for an answer. The first shows all that deed adds, against a model that nobody
// has; with the second a turn takes what the quickest models take for a short answer.
var paces = []struct {
	name  string
	delay int // ms
}{{"no-delay", 0}, {"300ms-answers", 300}}

// isolations are those that deed is measured with.
var isolations = []string{"process", "namespace"}

// A cliAgent is a real agent program with its adapter. @PROGRAM@ is its file and @BASE@ the address of the scripted model's
// scenario; @POSTURE@ lifts the agent's own guards where there are no walls, so that it is started alike everywhere.
type cliAgent struct {
	tool, adapter string
	opening       string // a command that reads what deed says at the start
	slow          bool   // only when it is asked for by DEED_BENCH_AGENTS
}

const lifted = `, sandbox: danger-full-access, autonomy: {profile: trusted-vm}`

var overheadAgents = map[string]cliAgent{
	"codex": {
		tool: "codex", opening: "cat",
		adapter: `{kind: codex, command: @PROGRAM@, timeout_ms: 120000, model: gpt-5.5, env: {OPENAI_API_KEY: sk-scripted-0f91c7}, provider: {id: scripted, base_url: "@BASE@/v1", wire_api: responses}@POSTURE@}`,
	},
	"claude-code": {
		tool: "claude", opening: "head -n 2",
		adapter: `{kind: claude-code, command: @PROGRAM@, timeout_ms: 120000, model: claude-sonnet-4-5, env: {ANTHROPIC_API_KEY: sk-scripted-0f91c7, ANTHROPIC_BASE_URL: "@BASE@"}@POSTURE@}`,
	},
	"opencode": {
		tool: "opencode", opening: "cat", slow: true,
		adapter: `{kind: opencode, command: @PROGRAM@, timeout_ms: 240000, model: scripted/any, env: {SCRIPTED_KEY: sk-scripted-0f91c7}, provider: {id: scripted, base_url: "@BASE@/v1", api: chat, key_env: SCRIPTED_KEY}@POSTURE@}`,
	},
}

// TestBenchOverhead measures what deed adds to a run of a real agent program: ten answers of the scripted model, nine of them
// with a tool call, through the whole of `deed run`, from the start of the binary to its end, without checks. The floor is the
// same program with the arguments, environment, input and kind of directories that deed gives it, started bare, in turns with it.
//
// DEED_BENCH_ROUNDS is the number of pairs; DEED_BENCH_AGENTS names the agents (codex,claude-code; opencode is slow).
func TestBenchOverhead(t *testing.T) {
	if os.Getenv("DEED_BENCH") != "1" {
		t.Skip("set DEED_BENCH=1 to measure")
	}
	if _, err := exec.LookPath("bwrap"); err != nil {
		t.Skip("missing tool: bwrap: apt-get install bubblewrap")
	}
	pairs := 20
	if n, err := strconv.Atoi(os.Getenv("DEED_BENCH_ROUNDS")); err == nil && n > 0 {
		pairs = n
	}
	bin := build(t)
	base := overheadModel(t)
	for _, name := range slices.Sorted(maps.Keys(overheadAgents)) {
		agent := overheadAgents[name]
		if asked := os.Getenv("DEED_BENCH_AGENTS"); asked == "" && agent.slow || asked != "" && !slices.Contains(strings.Split(asked, ","), name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			o := newOverhead(t, bin, agent, base)
			for _, p := range paces {
				o.measure(name, p.name, pairs)
			}
			o.memory(name)
		})
	}
}

// overheadModel serves a scenario for each pace and returns where.
func overheadModel(t *testing.T) func(scenario string) string {
	t.Helper()
	s := scripted.Script{Schema: scripted.Schema, Scenarios: map[string]scripted.Scenario{}}
	for _, p := range paces {
		var steps []scripted.Step
		for i := range overheadTurns - 1 {
			steps = append(steps, scripted.Step{DelayMS: p.delay, Call: scripted.Call{Tool: "shell", Command: fmt.Sprintf("echo %d >> log.txt", i)}})
		}
		steps = append(steps, scripted.Step{DelayMS: p.delay, Text: "Done."})
		s.Scenarios[p.name] = scripted.Scenario{Steps: steps}
	}
	must(t, s.Validate())
	server := scripted.New(s)
	_, err := server.Start("127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { _ = server.Close() })
	return server.URL
}

// An overhead is one agent with a home of deed's and a project that it works on.
type overhead struct {
	t        *testing.T
	bin, dir string
	agent    cliAgent
	program  string
	bare     map[string]invocation // how deed starts the agent, by pace
}

func newOverhead(t *testing.T, bin string, agent cliAgent, base func(string) string) *overhead {
	t.Helper()
	o := &overhead{t: t, bin: bin, dir: t.TempDir(), agent: agent, program: drivertest.Agent(t, agent.tool), bare: map[string]invocation{}}
	var y strings.Builder
	y.WriteString("adapters:\n")
	adapter := func(name, scenario, program string, walls bool) {
		posture := lifted
		if walls {
			posture = ""
		}
		text := strings.NewReplacer("@PROGRAM@", program, "@BASE@", base(scenario), "@POSTURE@", posture).Replace(agent.adapter)
		fmt.Fprintf(&y, "  %s: %s\n", name, text)
	}
	recorder := o.recorder()
	for _, p := range paces {
		adapter(p.name+"-namespace", p.name, o.program, true)
		adapter(p.name+"-process", p.name, o.program, false)
		adapter(p.name+"-recorded", p.name, recorder, false)
	}
	home := filepath.Join(o.dir, "home") // a project's own file may not lift an agent's guards
	must(t, os.MkdirAll(home, 0o700))
	must(t, os.WriteFile(filepath.Join(home, "deed.yaml"), []byte(y.String()), 0o600))
	o.project(filepath.Join(o.dir, "project"))
	for _, p := range paces {
		o.bare[p.name] = o.record(p.name)
	}
	return o
}

// project makes what the agent works on.
func (o *overhead) project(dir string) {
	o.t.Helper()
	must(o.t, os.MkdirAll(dir, 0o700))
	for i := range 20 {
		must(o.t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("file-%d.txt", i)), fmt.Appendf(nil, "file %d\n", i), 0o600))
	}
}

// recorder makes a program that keeps how it was started.
func (o *overhead) recorder() string {
	file := filepath.Join(o.dir, "recorder")
	must(o.t, os.WriteFile(file, fmt.Appendf(nil, "#!/bin/sh\ncat /proc/$$/cmdline > '%[1]s/cmdline'\ncat /proc/$$/environ > '%[1]s/environ'\n%[2]s > '%[1]s/stdin'\n", o.dir, o.agent.opening), 0o700))
	return file
}

// An invocation is how deed starts an agent in an attempt's directory.
type invocation struct {
	attempt   string
	args, env []string
	stdin     string
}

// record has deed start the recorder in the agent's place.
func (o *overhead) record(pace string) invocation {
	o.t.Helper()
	said, _ := o.deed(pace+"-recorded", "process").CombinedOutput() // the recorder does no work, and deed says so
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(o.dir, name))
		if err != nil {
			o.t.Fatalf("deed did not start the recorder: %v\n%s", err, said)
		}
		return string(text)
	}
	list := func(name string) []string { return strings.Split(strings.TrimSuffix(read(name), "\x00"), "\x00") }
	in := invocation{args: list("cmdline")[2:], env: list("environ"), stdin: read("stdin")} // behind the shell and its script
	for _, v := range in.env {
		if dir, ok := strings.CutPrefix(v, "DEED_WORKSPACE="); ok {
			in.attempt = filepath.Dir(dir)
		}
	}
	if in.attempt == "" {
		o.t.Fatalf("no workspace in %q", in.env)
	}
	return in
}

// deed is a run on the project by the adapter of a name.
func (o *overhead) deed(adapter, isolation string) *exec.Cmd {
	c := exec.Command(o.bin, "run", "--json", "--quiet", "--workspace", "project", "--isolation", isolation, "--agent", adapter, "write the log")
	c.Dir = o.dir
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + o.dir, "DEED_HOME=" + filepath.Join(o.dir, "home")}
	return c
}

// through runs the agent under deed, which must find the work done, in ten turns.
func (o *overhead) through(pace, isolation string, start func(*exec.Cmd) error) spent {
	o.t.Helper()
	c := o.deed(pace+"-"+isolation, isolation)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	var err error
	took := seconds(func() { err = start(c) })
	var doc struct {
		Status string   `json:"status"`
		Files  []string `json:"changed_files"`
	}
	if err != nil || json.Unmarshal(out.Bytes(), &doc) != nil || doc.Status != "completed" || strings.Join(doc.Files, ",") != "log.txt" {
		o.t.Fatalf("%v\n%s\n%s", err, out.String(), errs.String())
	}
	return spent{took, processor(c)}
}

// A spent is what a run took, in seconds.
type spent struct{ wall, cpu float64 }

// processor is the time that a command and everything that it waited for spent on a processor.
func processor(c *exec.Cmd) float64 {
	return (c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Seconds()
}

// alone runs the agent bare, in directories like those of an attempt.
func (o *overhead) alone(kind, pace string) spent {
	o.t.Helper()
	in := o.bare[pace]
	dir, err := os.MkdirTemp(o.dir, "bare-")
	must(o.t, err)
	defer os.RemoveAll(dir)
	for _, sub := range []string{"home/." + kind, "tmp", "artifacts", "exchange"} {
		must(o.t, os.MkdirAll(filepath.Join(dir, sub), 0o700))
	}
	o.project(filepath.Join(dir, "workspace"))
	here := func(list []string) (out []string) {
		for _, v := range list {
			out = append(out, strings.ReplaceAll(v, in.attempt, dir))
		}
		return out
	}
	c := exec.Command(o.program, here(in.args)...)
	c.Dir, c.Env, c.Stdin = filepath.Join(dir, "workspace"), here(in.env), strings.NewReader(strings.ReplaceAll(in.stdin, in.attempt, dir))
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	took := seconds(func() { err = c.Run() })
	log, rerr := os.ReadFile(filepath.Join(dir, "workspace", "log.txt"))
	if err != nil || rerr != nil || strings.Count(string(log), "\n") != overheadTurns-1 {
		o.t.Fatalf("%v, %v: log %q\n%s\n%s", err, rerr, log, out.String(), errs.String())
	}
	return spent{took, processor(c)}
}

// samples are what the runs of one kind took.
type samples struct{ wall, cpu, ratio []float64 }

// add takes a run and the bare one that it is paired with.
func (s *samples) add(v, floor spent) {
	s.wall, s.cpu, s.ratio = append(s.wall, v.wall), append(s.cpu, v.cpu), append(s.ratio, v.wall/floor.wall)
}

func (o *overhead) measure(kind, pace string, pairs int) {
	o.t.Helper()
	o.alone(kind, pace) // brings the program into memory
	for _, isolation := range isolations {
		o.through(pace, isolation, (*exec.Cmd).Run)
	}
	floor, took := &samples{}, map[string]*samples{}
	for _, isolation := range isolations {
		took[isolation] = &samples{}
	}
	for range pairs {
		f := o.alone(kind, pace)
		floor.add(f, f)
		for _, isolation := range isolations {
			took[isolation].add(o.through(pace, isolation, (*exec.Cmd).Run), f)
		}
	}
	for _, isolation := range isolations {
		name, v := fmt.Sprintf("overhead.%s.%s.%s", kind, pace, isolation), took[isolation]
		added := 1000 * (median(v.wall) - median(floor.wall))
		line(o.t, name, median(v.wall), median(floor.wall), fmt.Sprintf("s for a run of ten turns against the program alone; deed adds %.0f ms; median ratio of %d pairs %.3f", added, pairs, median(v.ratio)), "<=1.10")
		line(o.t, name+".fastest", slices.Min(v.wall), slices.Min(floor.wall), "s, the same on a machine with nothing else to do", "<=1.10")
		line(o.t, name+".processor", median(v.cpu), median(floor.cpu), "s on a processor, which other work on the machine changes least", "-")
	}
	load, err := os.ReadFile("/proc/loadavg")
	must(o.t, err)
	o.t.Logf("overhead.%s.%s: load of the machine at the end, on %d cores: %s", kind, pace, runtime.NumCPU(), load)
}

// memory prints the largest resident sets of deed's processes in a run of its own, because looking costs time: deed, its
// supervisor, and behind walls the forwarder.
func (o *overhead) memory(kind string) {
	o.t.Helper()
	for _, isolation := range isolations {
		peaks := map[string]float64{}
		o.through(paces[0].name, isolation, func(c *exec.Cmd) error {
			if err := c.Start(); err != nil {
				return err
			}
			ended := make(chan error, 1)
			go func() { ended <- c.Wait() }()
			for {
				select {
				case err := <-ended:
					return err
				case <-time.After(5 * time.Millisecond):
					o.look(peaks)
				}
			}
		})
		for _, role := range slices.Sorted(maps.Keys(peaks)) {
			fmt.Printf("bench overhead.%s.%s/peak-memory.%s %.1f - - <=60 # MB, the largest resident set\n", kind, isolation, role, peaks[role])
		}
	}
}

// look raises the peaks of the processes that run deed's binary, by their commands.
func (o *overhead) look(peaks map[string]float64) {
	bin, err := os.Stat(o.bin)
	must(o.t, err)
	dirs, err := filepath.Glob("/proc/[0-9]*")
	must(o.t, err)
	for _, dir := range dirs {
		if exe, err := os.Stat(dir + "/exe"); err != nil || !os.SameFile(exe, bin) {
			continue
		}
		args, _ := os.ReadFile(dir + "/cmdline")
		status, _ := os.ReadFile(dir + "/status") // either is empty when the process is gone
		_, rest, ok := strings.Cut(string(status), "VmHWM:")
		argv := strings.Split(string(args), "\x00")
		if !ok || len(argv) < 2 {
			continue
		}
		kb, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
		must(o.t, err)
		peaks[strings.Trim(argv[1], "_")] = max(peaks[strings.Trim(argv[1], "_")], kb/1024)
	}
}
