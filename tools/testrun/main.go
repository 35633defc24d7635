// Command testrun runs the checks and tests of the repository and ends with one line that says how they went:
//
//	N passed, N failed, N skipped
//
// It wraps go test -json: output is shown for what failed only, and every skip is shown with its reason. A
// -check is a command that counts as one test; one that exits with status 77 was skipped, and the last line it
// printed is the reason. All checks and tests run, whatever fails before them: the checks one after the other, concurrently
// with the tests.
//
// A skip whose reason begins with "missing tool:" is allowed on a developer's machine. With CI=true it is a
// failure, because there everything that the tests need has to be installed. So is one that begins with "short:", which
// is how a test says that go test -short leaves it out.
package main

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// skipped is the exit status by which a check says that it could not run; automake and meson read it so, too.
const skipped = 77

func main() {
	os.Exit(run(os.Args[1:], os.Getenv("CI") == "true", os.Stdout, os.Stderr))
}

// A check is a named command of the -check flag.
type check struct{ name, command string }

func run(args []string, strict bool, stdout, stderr io.Writer) int {
	var checks []check
	flags := flag.NewFlagSet("testrun", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprintln(stderr, "usage: testrun [-check NAME=COMMAND]... [-- go test arguments]")
		flags.PrintDefaults()
	}
	flags.Func("check", "`NAME=COMMAND`: a shell command that counts as one test; may be repeated", func(s string) error {
		name, command, ok := strings.Cut(s, "=")
		if !ok || name == "" || command == "" {
			return fmt.Errorf("want NAME=COMMAND, got %q", s)
		}
		checks = append(checks, check{name, command})
		return nil
	})
	if err := flags.Parse(args); err != nil {
		return 2
	}

	rep := newReport(stdout, strict)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, c := range checks {
			rep.check(c)
		}
	}()
	if flags.NArg() > 0 {
		if err := goTest(rep, flags.Args(), stderr); err != nil {
			rep.fault(err)
		}
	}
	<-done
	return rep.finish()
}

// goTest runs go test -json with args and feeds its events to rep. An exit status other than zero is no error
// by itself: rep knows why. It is one when no test failed.
func goTest(rep *report, args []string, stderr io.Writer) error {
	cmd := exec.Command("go", append([]string{"test", "-json"}, args...)...)
	cmd.Stderr = stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("start go test: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start go test: %w", err)
	}
	readErr := rep.read(out)
	if err := cmd.Wait(); err != nil && !rep.testFailed() {
		return fmt.Errorf("go test: %w, yet no test failed", err)
	}
	return readErr
}

// check runs c in a shell, in the directory and environment of testrun itself.
func (r *report) check(c check) {
	begin := time.Now()
	cmd := exec.Command("bash", "-c", c.command)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()

	r.mu.Lock()
	defer r.mu.Unlock()
	var exit *exec.ExitError
	switch {
	case err == nil:
		r.pass(result{Test: c.name, Elapsed: time.Since(begin).Seconds()})
		fmt.Fprintf(r.out, "ok    %-62s %6.1fs\n", "check "+c.name, time.Since(begin).Seconds())
	case errors.As(err, &exit) && exit.ExitCode() == skipped:
		r.skip(result{Test: c.name, Reason: lastLine(out.Bytes())})
		fmt.Fprintf(r.out, "skip  check %s\n", c.name)
	default:
		r.fail(result{Test: c.name})
		fmt.Fprintf(r.out, "FAIL  check %s: %v (%.1fs)\n%s\n", c.name, err, time.Since(begin).Seconds(), indent(out.String()))
	}
}

// lastLine returns the last line of out that is not blank.
func lastLine(out []byte) string {
	last := ""
	for s := bufio.NewScanner(bytes.NewReader(out)); s.Scan(); {
		if line := strings.TrimSpace(s.Text()); line != "" {
			last = line
		}
	}
	return last
}

func indent(s string) string {
	return "    " + strings.ReplaceAll(strings.TrimRight(s, "\n"), "\n", "\n    ")
}
