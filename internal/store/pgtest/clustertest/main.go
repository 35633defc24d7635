// Command clustertest runs a command with one PostgreSQL cluster that all tests below it share:
//
//	clustertest COMMAND [ARGUMENT...]
//
// Where PostgreSQL is not installed it runs the command without: the tests that need it say so.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"

	"github.com/deedrun/deed/internal/store/pgtest"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: clustertest COMMAND [ARGUMENT...]")
		os.Exit(2)
	}
	cmd := exec.Command(os.Args[1], os.Args[2:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if dir, err := pgtest.Share(); err != nil {
		fmt.Fprintln(os.Stderr, "clustertest: no PostgreSQL:", err)
	} else {
		cmd.Env = append(os.Environ(), pgtest.Directory+"="+dir)
	}
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		fmt.Fprintln(os.Stderr, "clustertest:", err)
		os.Exit(1)
	}
	if code := cmd.ProcessState.ExitCode(); code >= 0 {
		os.Exit(code)
	}
	fmt.Fprintln(os.Stderr, "clustertest:", err) // a signal ended it
	os.Exit(1)
}
