package agentcli

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/driver/process"
	"github.com/deedrun/deed/internal/base/failure"
)

// The modes of an agent's own sandbox, as adapters name them.
const (
	ReadOnly   = agentruntime.SandboxReadOnly
	Workspace  = agentruntime.SandboxWorkspace
	FullAccess = agentruntime.SandboxFullAccess
)

// A Posture is what an agent's own guards have to do.
type Posture struct {
	Sandbox string // what the CLI's own flags are to hold: one of the modes
	Lifted  bool   // the CLI's own guards are off, because deed's sandbox holds or because the adapter declares a trusted VM
	Why     string // for the evidence
}

// postureOf decides on an agent's own guards. In deed's sandbox they are lifted: they would need a sandbox of their own, which
// cannot be built there, and deed's restricts the same things. Outside, only a declared trusted VM lifts them: an adapter that
// asks for full access without declaring one is not valid.
func postureOf(j driver.Job, c process.Config) (Posture, error) {
	switch {
	case j.Sandbox.Contained() && c.Sandbox == ReadOnly:
		return Posture{}, failure.New(failure.Config, "set the agent's guards",
			errors.New("sandbox read-only of an agent that deed contains is deed's to hold"), "set deed.sandbox.read_only_workspace instead")
	case j.Sandbox.Contained():
		return Posture{Sandbox: FullAccess, Lifted: true, Why: "agent's own guards lifted: deed's isolation holds"}, nil
	case c.Sandbox == FullAccess:
		return Posture{Sandbox: FullAccess, Lifted: true, Why: "agent's own guards lifted: the adapter declares a trusted VM"}, nil
	case c.Sandbox == "":
		return Posture{Sandbox: Workspace, Why: "agent's own guards: workspace-write"}, nil
	}
	return Posture{Sandbox: c.Sandbox, Why: "agent's own guards: " + c.Sandbox}, nil
}

// CheckArgs refuses arguments of an adapter that deed sets itself, by the names of options. A name that ends in = is the
// beginning of a key that -c or --config sets.
func CheckArgs(extra []string, reserved ...string) error {
	for i, arg := range extra {
		option, key := arg, ""
		switch {
		case i > 0 && (extra[i-1] == "-c" || extra[i-1] == "--config"):
			option, key = "", arg
		case strings.HasPrefix(arg, "--config="):
			key = strings.TrimPrefix(arg, "--config=")
		case strings.HasPrefix(arg, "-c"):
			key = strings.TrimPrefix(arg[2:], "=")
		}
		if slices.ContainsFunc(reserved, func(r string) bool { return names(option, key, r) }) {
			return failure.New(failure.Config, "read extra_args", fmt.Errorf("%q is deed's to set", arg), "take it out; the adapter's own fields say what can be chosen")
		}
	}
	return nil
}

// names reports whether an argument sets what is reserved. A short option can have its value attached, and a key of TOML
// can be quoted.
func names(option, key, reserved string) bool {
	if k, ok := strings.CutSuffix(reserved, "="); ok {
		key, _, _ = strings.Cut(key, "=")
		return strings.HasPrefix(strings.NewReplacer(`"`, "", "'", "", " ", "", "\t", "").Replace(key), k)
	}
	name, _, _ := strings.Cut(option, "=")
	return name == reserved || len(reserved) == 2 && reserved != "--" && strings.HasPrefix(option, reserved)
}

// checkRequired refuses a command line that lacks what the adapter's autonomy requires.
func checkRequired(args, required []string) error {
	for _, r := range required {
		if !slices.Contains(args, r) {
			return failure.New(failure.Config, "check autonomy.required_args", fmt.Errorf("%q is not on the command line", r), "add it to extra_args, or take it out of required_args")
		}
	}
	return nil
}

// conversationID is what may stand for a conversation on a command line: the agent's program chose it, and it must not be
// taken for an option.
var conversationID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.:/@+=-]{0,255}$`) })

// GoodID reports whether an id that an agent's program reported can be passed back to it on a command line.
func GoodID(id string) bool { return conversationID().MatchString(id) }
