package bundle_test

import (
	"context"
	"crypto"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	intoto "github.com/in-toto/attestation/go/v1"
	"github.com/secure-systems-lab/go-securesystemslib/dsse"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/deedrun/deed/internal/base/canonjson"
	"github.com/deedrun/deed/internal/evidence/bundle"
)

// attested seals a bundle and returns its attestation.
func attested(t *testing.T, k *bundle.Key) []byte {
	t.Helper()
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
	return text
}

// pair is a key for the library of DSSE's authors.
type pair struct {
	id      string
	private ed25519.PrivateKey
}

func (p pair) KeyID() (string, error)   { return p.id, nil }
func (p pair) Public() crypto.PublicKey { return p.private.Public() }
func (p pair) Sign(_ context.Context, data []byte) ([]byte, error) {
	return ed25519.Sign(p.private, data), nil
}

func (p pair) Verify(_ context.Context, data, sig []byte) error {
	if !ed25519.Verify(p.private.Public().(ed25519.PublicKey), data, sig) {
		return errors.New("it does not fit")
	}
	return nil
}

// The attestation is the envelope that the format's authors write for the same payload and key, and they verify it. What they write
// passes here because it is the same: that a bundle with another one does not is the work of the tests of Verify.
func TestTheAttestationIsADSSEEnvelope(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	k, err := bundle.LoadOrCreateKey(dir)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "ed25519.pem"))
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(text)
	private, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	p := pair{k.Public().ID, private.(ed25519.PrivateKey)}

	var ours dsse.Envelope
	if err := json.Unmarshal(attested(t, k), &ours); err != nil {
		t.Fatal(err)
	}
	ev, err := dsse.NewEnvelopeVerifier(p)
	if err != nil {
		t.Fatal(err)
	}
	_, payload, err := ev.VerifyAndDecode(t.Context(), &ours)
	if err != nil {
		t.Fatal(err)
	}
	es, err := dsse.NewEnvelopeSigner(p)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := es.SignPayload(t.Context(), ours.PayloadType, payload)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(*theirs, ours); d != "" {
		t.Error(d)
	}
}

// What is signed is, byte for byte, what in-toto's own types write, in the canonical form: nothing is lost in them, and nothing is
// theirs alone.
func TestWhatIsSignedIsAnInTotoStatement(t *testing.T) {
	t.Parallel()
	text := attested(t, key(t))
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
