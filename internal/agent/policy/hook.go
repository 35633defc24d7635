package policy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/settings"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/proc"
)

// The events of hooks, as Claude names them.
const (
	EventPreToolUse   = "PreToolUse"
	EventPostToolUse  = "PostToolUse"
	EventStop         = "Stop"
	EventSubagentStop = "SubagentStop"
)

// NoteHook is the kind under which each run of a hook is noted, with a HookRun.
const NoteHook = "hook_run"

// Bounds of a hook.
const (
	defaultHookTimeout = 60 * time.Second
	maxHookOutput      = 1 << 20
)

// A HookRun is what became of one hook.
type HookRun struct {
	Event      string `json:"event"`
	Command    string `json:"command"`
	Tool       string `json:"tool,omitempty"`
	ExitCode   int    `json:"exit_code"`
	DurationMS int64  `json:"duration_ms"`
	Effect     string `json:"effect,omitempty"` // what it said; empty: nothing
	Reason     string `json:"reason,omitempty"`
	Fault      string `json:"fault,omitempty"` // why it counts for nothing, or for a no
}

var (
	errHookTimeout = errors.New("it did not end within its time limit")
	inheritedNames = []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TZ", "TMPDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR"}
)

// hooks runs those that match, in their order, and joins what they say. Before a call and at a stop the first no ends it;
// after a call everything that is said counts.
func (e *Engine) hooks(ctx context.Context, event string, list []settings.HookMatcher, c Call, more map[string]any) (Verdict, error) {
	var out Verdict
	var said []string
	for _, m := range list {
		if !hookMatches(m.Matcher, c) {
			continue
		}
		for _, h := range m.Hooks {
			v, err := e.hook(ctx, event, h, c, more)
			if err != nil {
				return Verdict{}, err
			}
			if v.Reason != "" && event == EventPostToolUse {
				said = append(said, v.Reason)
			}
			if strictness(v.Effect) > strictness(out.Effect) {
				out = v
			}
			if out.Effect == agentruntime.PolicyDeny && event != EventPostToolUse {
				return out, nil
			}
		}
	}
	if event == EventPostToolUse {
		out.Reason = strings.Join(said, "\n")
	}
	return out, nil
}

// hookMatches reports whether a matcher speaks of a tool: by Claude's name for it, by deed's, or by the agent's.
func hookMatches(matcher string, c Call) bool {
	if matcher == "" || matcher == "*" || c.Tool == "" { // a stop has no tool
		return true
	}
	re, err := regexp.Compile("^(?:" + matcher + ")$")
	return err == nil && slices.ContainsFunc([]string{claudeName(c), c.Name, c.Tool}, re.MatchString)
}

func claudeName(c Call) string {
	if n := claudeNames[c.Name]; n != "" && c.Known && !isClaudeName(c.Tool) {
		return n
	}
	return c.Tool
}

// isClaudeName reports whether a name is spelled as Claude spells its tools.
func isClaudeName(tool string) bool {
	return tool != "" && (tool[0] >= 'A' && tool[0] <= 'Z' || strings.HasPrefix(tool, "mcp__"))
}

// hook runs one command. An error means that ctx ended.
func (e *Engine) hook(ctx context.Context, event string, h settings.Hook, c Call, more map[string]any) (Verdict, error) {
	input, err := json.Marshal(e.hookInput(event, c, more))
	if err != nil {
		return Verdict{}, fmt.Errorf("encode the input of a hook: %w", err)
	}
	limit := defaultHookTimeout
	if h.Timeout > 0 {
		limit = time.Duration(h.Timeout) * time.Second
	}
	limited, cancel := context.WithTimeoutCause(ctx, limit, errHookTimeout)
	defer cancel()
	start := clock.Start()
	// A guard and no supervisor: a call of a tool waits for it. What leaves its group, the sweep finds by the attempt's name.
	res, err := proc.Tool(limited, proc.ToolSpec{
		Argv: []string{"/bin/sh", "-c", h.Command}, Dir: e.o.ProjectDir, Env: e.hookEnv(), Stdin: bytes.NewReader(input), MaxOutput: maxHookOutput, Guarded: true,
	})
	if ctx.Err() != nil {
		return Verdict{}, context.Cause(ctx)
	}
	run := HookRun{Event: event, Command: e.text(h.Command), Tool: c.Name, ExitCode: res.ExitCode, DurationMS: clock.Since(start).Milliseconds()}
	v := e.readAnswer(event, res, err, &run)
	if v.Effect != "" || v.Reason != "" {
		v.Rule = "hook:" + event
	}
	run.Effect, run.Reason = string(v.Effect), e.text(v.Reason)
	e.o.Note(NoteHook, run)
	return v, nil
}

// readAnswer reads what a hook said. One that gave no answer at all, because it hung, wrote without end or could not be started,
// denies a call: the operator put it there to be asked. It does not keep an agent from stopping, which it would do for ever.
func (e *Engine) readAnswer(event string, res proc.ToolResult, err error, run *HookRun) Verdict {
	if err != nil {
		run.Fault = e.text(err.Error())
		if event == EventPreToolUse {
			return Verdict{Effect: agentruntime.PolicyDeny, Reason: "a hook of the operator's gave no answer: " + err.Error()}
		}
		return Verdict{}
	}
	switch res.ExitCode {
	case 0:
		return e.answer(event, res.Stdout, run)
	case 2:
		reason := strings.TrimSpace(string(res.Stderr))
		if reason == "" {
			reason = "a hook of the operator's refused it and gave no reason"
		}
		return Verdict{Effect: agentruntime.PolicyDeny, Reason: reason}
	}
	run.Fault = fmt.Sprintf("exit %d counts for nothing: %s", res.ExitCode, e.text(strings.TrimSpace(string(res.Stderr))))
	return Verdict{}
}

// hookAnswer is what a hook may print.
type hookAnswer struct {
	Decision   string `json:"decision"` // approve or block
	Reason     string `json:"reason"`
	Continue   *bool  `json:"continue"`
	StopReason string `json:"stopReason"`
	Specific   struct {
		Decision string          `json:"permissionDecision"` // allow, deny or ask
		Reason   string          `json:"permissionDecisionReason"`
		Updated  json.RawMessage `json:"updatedInput"`
		Context  string          `json:"additionalContext"`
	} `json:"hookSpecificOutput"`
}

func (e *Engine) answer(event string, stdout []byte, run *HookRun) Verdict {
	stdout = bytes.TrimSpace(stdout)
	if !bytes.HasPrefix(stdout, []byte("{")) {
		return Verdict{} // a hook may print what it likes
	}
	var a hookAnswer
	if err := json.Unmarshal(stdout, &a); err != nil {
		run.Fault = "its JSON cannot be read: " + e.text(err.Error())
		return Verdict{}
	}
	v := Verdict{Reason: a.Reason}
	switch {
	case a.Decision == "block":
		v.Effect = agentruntime.PolicyDeny
	case a.Decision == "approve":
		v.Effect = agentruntime.PolicyAllow
	case a.Decision != "":
		run.Fault = fmt.Sprintf("decision %q is not known", e.text(a.Decision))
	}
	switch event {
	case EventPreToolUse:
		if d := agentruntime.PolicyEffect(a.Specific.Decision); d != "" {
			v.Effect, v.Reason = d, a.Specific.Reason
			if strictness(d) == 0 {
				v.Effect, run.Fault = "", fmt.Sprintf("permissionDecision %q is not known", e.text(string(d)))
			}
		}
		if len(a.Specific.Updated) > 0 && string(a.Specific.Updated) != "null" && v.Effect != agentruntime.PolicyDeny {
			v = Verdict{Effect: agentruntime.PolicyDeny, Reason: "a hook of the operator's wants other input for this call, and deed does not change what an agent asks for"}
			run.Fault = "updatedInput is not supported: the call was refused"
		}
		if a.Continue != nil && !*a.Continue {
			v = Verdict{Effect: agentruntime.PolicyDeny, Reason: first(a.StopReason, v.Reason, "a hook of the operator's ended this")}
		}
	case EventPostToolUse:
		v.Reason = strings.TrimSpace(v.Reason + "\n" + a.Specific.Context)
	default:
		if a.Continue != nil && !*a.Continue {
			v = Verdict{} // it may stop
		}
	}
	if v.Effect == agentruntime.PolicyDeny && v.Reason == "" {
		v.Reason = "a hook of the operator's refused it and gave no reason"
	}
	return v
}

func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

// hookInput is the JSON on a hook's standard input, in Claude's words. What other agents call by other names is there under
// Claude's names too, so that a hook that was written for one agent serves all. Paths are those of the machine.
func (e *Engine) hookInput(event string, c Call, more map[string]any) map[string]any {
	cwd, _ := e.o.Places.Host(e.o.Places.Root)
	in := map[string]any{
		"session_id": e.o.Session, "transcript_path": e.o.Transcript, "cwd": cwd, "hook_event_name": event, "permission_mode": "default",
	}
	if c.Tool != "" {
		in["tool_name"], in["tool_input"] = claudeName(c), e.claudeInput(c)
		in["deed_tool"], in["deed_agent_tool"] = c.Name, c.Tool
	}
	for k, v := range more {
		in[k] = v
	}
	return in
}

func (e *Engine) claudeInput(c Call) any {
	if c.input == nil {
		return map[string]string{"raw": strings.ToValidUTF8(string(c.raw), "�")}
	}
	in := make(map[string]any, len(c.input)+1)
	for k, v := range c.input {
		in[k] = v
	}
	switch c.Name {
	case ToolRead, ToolWrite, ToolEdit, ToolDelete, ToolMove:
		if p := c.strings(pathKeys...); len(p) > 0 {
			if host, ok := e.o.Places.Host(p[0]); ok {
				in["file_path"] = host
			}
		}
	case ToolShell:
		in["command"] = strings.Join(c.lines, "\n")
	case ToolFetch:
		if u := c.strings(hostKeys...); len(u) > 0 {
			in["url"] = u[0]
		}
	}
	return in
}

func (e *Engine) hookEnv() []string {
	env := []string{"CLAUDE_PROJECT_DIR=" + e.o.ProjectDir, "DEED_ATTEMPT_ID=" + e.o.Session} // by which a sweep finds what a hook left behind
	for _, name := range inheritedNames {
		if v := proc.Getenv(e.o.Environ, name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return env
}
