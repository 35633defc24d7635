package brief

import (
	"errors"
	"strings"
	"testing"

	"github.com/deedrun/deed/internal/isolate/redact"
)

// A brief with a secret is kept with a mark instead of it: it compiles to the same hash for every value, and the
// agent gets the value.
func TestEvidenceHasNoSecret(t *testing.T) {
	t.Parallel()
	kept := func(secret string) Brief {
		in := input()
		in.Intent.Description = "Call the service with " + secret + " twice: " + secret
		in.Intent.Payload = []byte(`{"token": "` + secret + `", "n": 1.50}`)
		in.House = &Instructions{File: "AGENTS.md", Text: "Never print " + secret + ".\n"}
		b, err := Compile(in)
		if err != nil {
			t.Fatal(err)
		}
		e, err := b.Evidence(redact.New(map[string]string{"TOKEN": secret}).Value)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(e.Text, secret) || strings.Contains(string(e.Document), secret) {
			t.Errorf("told with it: %v, kept without: %v", strings.Contains(e.Text, secret), !strings.Contains(string(e.Document), secret))
		}
		d, err := Read(e.Document)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Again(d)
		if err != nil || again.Hash != e.Hash || Hash(e.Document) != e.Hash {
			t.Errorf("it repeats to %s, not %s: %v", again.Hash, e.Hash, err)
		}
		if want := redact.New(map[string]string{"TOKEN": secret}).String(b.Text); d.Prompt != want {
			t.Errorf("kept as\n%s\nwant\n%s", d.Prompt, want)
		}
		for _, p := range d.Sections {
			if p.Section == "task" && !strings.Contains(d.Text(p), "TOKEN") {
				t.Errorf("the section is not where it is said to be: %q", d.Text(p))
			}
		}
		return e
	}
	if x, y := kept("tok_9182736455647382910aa"), kept("ghp_Zk39Qm27Xw81Lt64Rv05xxxxxxxxxxxx"); x.Hash != y.Hash {
		t.Error("the hash tells two values of a secret apart")
	}
}

// If the marks do not fit, the brief is not changed to make them fit: the caller gets an error.
func TestEvidenceThatDoesNotFit(t *testing.T) {
	t.Parallel()
	in := input()
	in.Intent.Description = strings.Repeat("s3cr3tXY ", 40)
	in.Profile.ContextPolicy.MaxPromptChars = 100_000
	b, err := Compile(in)
	if err != nil {
		t.Fatal(err)
	}
	in.Profile.ContextPolicy.MaxPromptChars = int64(len([]rune(b.Text)))
	if b, err = Compile(in); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Evidence(redact.New(map[string]string{"A_LONG_NAME_OF_A_SECRET": "s3cr3tXY"}).Value); !errors.Is(err, ErrMarks) {
		t.Errorf("got %v", err)
	}
}
