package exectrace

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// testMode has the test binary be a program that a trace is about.
const testMode = "EXECTRACE_TEST_MODE"

// modes are what it can be.
var modes = map[string]func(argv []string) int{}

func TestMain(m *testing.M) {
	if mode := modes[os.Getenv(testMode)]; mode != nil {
		os.Unsetenv(testMode)
		os.Exit(mode(os.Args[1:]))
	}
	goleak.VerifyTestMain(m)
}
