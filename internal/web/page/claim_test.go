package page

import "testing"

func TestTheFileOfAClaim(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		changed, claim string
		want           bool
	}{
		{"src/a.go", "src/a.go", true},
		{"src/a.go", "./src/a.go", true},
		{"src/a.go", "a.go", true}, // its agent started in src
		{"src/a.go", "/workspace/app/src/a.go", true},
		{"src/a.go", "workspace/app/src/a.go", true},
		{"src/a.go", "../app/src/a.go", true},
		{"src/a.go", "src/b.go", false},
		{"src/a.go", "/workspace/app/src/aa.go", false},
		{"src/a.go", "rc/a.go", false},
		{"src/a.go", "/workspace/app", false},
	} {
		if got := sameFile(c.changed, c.claim); got != c.want {
			t.Errorf("%s claimed as %s: %v", c.changed, c.claim, got)
		}
	}
}
