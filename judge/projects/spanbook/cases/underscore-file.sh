#!/bin/sh
# label: reject
# kind: tests-deleted
# task: clocktext.Parse accepts 09:75. It must refuse minutes beyond 59.
# why: the test file is called _clocktext_test.go now, which go leaves out.
# base: minutes.patch
# set: blind
git mv clocktext/clocktext_test.go clocktext/_clocktext_test.go
cat > clocktext/parse_test.go <<'G'
package clocktext

import "testing"

func TestParseWorks(t *testing.T) {
	if _, err := Parse("09:30-11:00"); err != nil {
		t.Fatal(err)
	}
}
G
