package cli

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// An error can quote what an agent wrote: a file's name, a line of output.
func TestReportIsSafeOnATerminal(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	a := &app{Stdio: Stdio{Err: &out}}
	a.report(errors.New("apply \x1b]0;owned\x07x\x1b[2J: no\nsecond\rline\x9b31m"), ExitNotDone)
	if got := out.String(); strings.ContainsAny(got, "\x1b\x07\r") || strings.Count(got, "\n") != 2 {
		t.Errorf("%q", got)
	}
}
