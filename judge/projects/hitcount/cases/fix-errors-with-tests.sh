#!/bin/sh
# label: accept
# kind: feature-with-tests
# task: A status of 400 is not counted as an error. The golden tests fail; fix it. Add a unit test of the limit.
# why: 400 counts again, and a new table test holds 399, 400 and 599.
# base: errors.patch
# set: blind
sed -i 's/h.Status > 400/h.Status >= 400/' report/report.go
cat >> report/report_test.go <<'G'

func TestErrorsBeginAt400(t *testing.T) {
	for status, want := range map[int]int{200: 0, 399: 0, 400: 1, 404: 1, 599: 1} {
		s, err := New("status")
		if err != nil {
			t.Fatal(err)
		}
		s.Add(access.Hit{Status: status})
		if got := s.Rows(0)[0].Errors; got != want {
			t.Errorf("status %d: %d errors, want %d", status, got, want)
		}
	}
}
G
