package brief

import (
	"strings"
	"testing"
)

// A skill is in the text, in the document and in the hash.
func TestSkills(t *testing.T) {
	t.Parallel()
	compile := func(skills ...Skill) Brief {
		t.Helper()
		in := input()
		in.Skills = skills
		b, err := Compile(in)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	weave := Skill{ID: "weave", Version: "1.2.0", Digest: "sha256:aa", Description: "Weaves cloth.", Body: "Use the loom.", Commands: []string{"weave"}}
	b := compile(weave)
	for _, want := range []string{"- weave 1.2.0: Weaves cloth. Commands: weave.", "## Skill weave\n\nUse the loom."} {
		if !strings.Contains(b.Text, want) {
			t.Errorf("the brief lacks %q:\n%s", want, b.Text)
		}
	}
	other := weave
	other.Body = "Use the needle."
	moved := weave
	moved.Digest = "sha256:bb"
	for name, o := range map[string]Brief{"none": compile(), "body": compile(other), "digest": compile(moved)} {
		if o.Hash == b.Hash {
			t.Errorf("%s: the same hash", name)
		}
	}
}
