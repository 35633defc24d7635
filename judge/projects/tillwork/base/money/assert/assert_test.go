package assert

import "testing"

type recorder struct {
	testing.TB
	failed bool
}

func (r *recorder) Helper()               {}
func (r *recorder) Errorf(string, ...any) { r.failed = true }

func TestEqualFails(t *testing.T) {
	r := &recorder{TB: t}
	Equal(r, 1, 1)
	if r.failed {
		t.Error("1 is not 1")
	}
	Equal(r, 1, 2)
	if !r.failed {
		t.Error("1 is 2")
	}
}
