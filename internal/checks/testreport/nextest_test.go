package testreport_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/internal/checks/testreport"
)

func TestNextest(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, want string }{
		{"all words", `   Compiling m v0.1.0 (/m)
    Finished ` + "`test`" + ` profile [unoptimized + debuginfo] target(s) in 1.93s
────────────
 Nextest run ID 0 with nextest profile: default
    Starting 7 tests across 2 binaries (1 test skipped)
        PASS [   0.012s] (   1/1146) m checks::holds
        FAIL [   0.010s] ( 288/1146) m checks::wrong
  TRY 1 FAIL [   0.010s] ( 289/1146) m checks::flaky
  TRY 2 PASS [   0.010s] ( 289/1146) m checks::flaky
        SLOW [> 60.000s] m::it hangs
     TIMEOUT [  90.000s] m::it hangs
     SIGSEGV [   0.004s] m::it crashes
        LEAK [   0.101s] m::it leaks
        SKIP [         ] m::it off
stdout of a test: PASS [ 1s] no test
────────────
     Summary [   0.013s] 7 tests run: 3 passed, 3 failed, 1 skipped
        FAIL [   0.010s] m checks::wrong
error: test run failed
`, `nextest: total 6, passed 3, failed 3, skipped 0
passed "m" "checks::holds"
failed "m" "checks::wrong" type fail
passed "m" "checks::flaky"
failed "m::it" "hangs" type timeout
failed "m::it" "crashes" type sigsegv
passed "m::it" "leaks"
`},
		{"cut off", "    Starting 2 tests across 1 binary\n        PASS [   0.006s] m a\n", `nextest: total 2, passed 1, failed 1, skipped 0
passed "m" "a"
failed "" "[suite]" type unfinished says "1 tests ran, and nextest did not sum them up"
`},
		{"no build", "error: could not compile `m` (lib test) due to 1 previous error\n", `nextest: total 1, passed 0, failed 1, skipped 0
failed "" "[build]" type build says "error: could not compile ` + "`m`" + ` (lib test) due to 1 previous error"
`},
		{"another command", "nextest 0.9\n", "nextest: total 0, passed 0, failed 0, skipped 0\n"},
	} {
		r, err := testreport.ParseAs(testreport.Nextest, strings.NewReader(c.in))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if diff := cmp.Diff(c.want, describe(&r)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}
