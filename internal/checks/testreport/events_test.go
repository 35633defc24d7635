package testreport_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/internal/checks/testreport"
)

func TestEvents(t *testing.T) {
	t.Parallel()
	r, err := testreport.ParseAs(testreport.Events, strings.NewReader(`{"event":"start","suite":"s","name":"a"}
{"event":"test","suite":"s","name":"a","status":"failed","message":"\u001b[31mno\u001b[0m","type":"Error","later":1}
{"event":"start","name":"hangs"}

{"event":"test","suite":"s","name":"a","status":"passed","duration_ms":1.5}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := `events: total 3, passed 1, failed 2, skipped 0
failed "s" "a" type Error says "no"
passed "s" "a#2"
failed "" "hangs" type unfinished
`
	if diff := cmp.Diff(want, describe(&r)); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{"text\n", `{"event":"test","name":"a"}`, `{"event":"test","name":"a","status":"fine"}`, `{"event":"end"}`, `{"event":"test","name":`} {
		r, err := testreport.ParseAs(testreport.Events, strings.NewReader(`{"event":"test","name":"a","status":"passed"}`+"\n"+bad))
		if err == nil || len(r.Cases) != 1 || r.Results.Partial != testreport.Broken {
			t.Errorf("%q: %v, %+v", bad, err, r)
		}
	}
}
