package bundle_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	intoto "github.com/in-toto/attestation/go/v1"
	"github.com/secure-systems-lab/go-securesystemslib/dsse"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/deedrun/deed/internal/bundle"
	"github.com/deedrun/deed/internal/canonjson"
)

// What is signed is, byte for byte, what in-toto's own types write, in the canonical form: nothing is lost in them, and nothing is
// theirs alone.
func TestWhatIsSignedIsAnInTotoStatement(t *testing.T) {
	t.Parallel()
	k := key(t)
	w, err := bundle.Create(filepath.Join(t.TempDir(), "attempt-1"), bundle.Options{Key: k})
	if err != nil {
		t.Fatal(err)
	}
	if err := fill(w, patch); err != nil {
		t.Fatal(err)
	}
	in := input()
	in.Statement.Reasons = []string{"scope_violation", `<&> "é" 😀`}
	s, err := w.Seal(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(s.Dir, bundle.PathAttestation))
	if err != nil {
		t.Fatal(err)
	}
	var envelope dsse.Envelope
	if err := json.Unmarshal(text, &envelope); err != nil {
		t.Fatal(err)
	}
	payload, err := envelope.DecodeB64Payload()
	if err != nil {
		t.Fatal(err)
	}
	var st intoto.Statement
	if err := protojson.Unmarshal(payload, &st); err != nil {
		t.Fatal(err)
	}
	if err := st.Validate(); err != nil {
		t.Error(err)
	}
	theirs, err := protojson.Marshal(&st)
	if err == nil {
		theirs, err = canonjson.Canonicalize(theirs)
	}
	if err != nil || string(theirs) != string(payload) {
		t.Errorf("%v\nsigned  %s\nin-toto %s", err, payload, theirs)
	}
}
