package command

import (
	"strings"

	"github.com/deedrun/deed/internal/agent/driver/agentcli"
)

// A text reads a program that prints no events: the end of what it prints is its last message.
type text struct {
	report *agentcli.Reporter
	b      []byte
}

// maxSaid bounds the last message.
const maxSaid = 16 << 10

// Feed keeps the end of what was printed.
func (t *text) Feed(line []byte) {
	if len(line) > maxSaid {
		line = line[len(line)-maxSaid:]
	}
	if len(t.b)+len(line)+1 > 2*maxSaid {
		t.b = append(t.b[:0], t.b[max(0, len(t.b)-maxSaid):]...)
	}
	t.b = append(append(t.b, line...), '\n')
}

// Outcome takes what was printed for the agent's last message. Whether the run succeeded its exit says.
func (t *text) Outcome() agentcli.Outcome {
	said := strings.TrimSpace(strings.ToValidUTF8(string(t.b[max(0, len(t.b)-maxSaid):]), "\ufffd"))
	t.report.Text(said, false)
	t.report.Turn("exit")
	return agentcli.Outcome{Succeeded: true, Message: said, NeedsWord: true}
}
