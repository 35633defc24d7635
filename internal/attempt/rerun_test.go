package attempt

import (
	"testing"

	"github.com/deedrun/deed/contract/deed"
)

func TestRerunHoldsEachCheckAgainstItsOwn(t *testing.T) {
	t.Parallel()
	verdict := func(list ...string) (v deed.Verdict) {
		for i := 0; i < len(list); i += 2 {
			v.Checks = append(v.Checks, deed.CheckResult{Name: list[i], Status: list[i+1]})
		}
		return v
	}
	for name, c := range map[string]struct {
		recorded, now deed.Verdict
		same          bool
		checks        int
	}{
		"the same":                    {verdict("test", "passed", "lint", "failed"), verdict("test", "passed", "lint", "failed"), true, 2},
		"the first of one name":       {verdict("test", "passed", "test", "passed"), verdict("test", "failed", "test", "passed"), false, 2},
		"the second of one name":      {verdict("test", "passed", "test", "passed"), verdict("test", "passed", "test", "failed"), false, 2},
		"one that was not recorded":   {verdict("test", "passed"), verdict("test", "passed", "lint", "failed"), false, 2},
		"one that is not run":         {verdict("test", "passed", "lint", "passed"), verdict("test", "passed"), false, 2},
		"another in the place of one": {verdict("test", "passed"), verdict("lint", "passed"), false, 1},
	} {
		got := compareVerdicts(c.recorded, c.now)
		if got.Same != c.same || len(got.Checks) != c.checks {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
