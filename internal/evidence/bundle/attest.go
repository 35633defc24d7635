package bundle

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"

	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/base/canonjson"
)

// PredicateType names the shape of what deed attests.
const PredicateType = "https://deed.run/attestation/run/v1"

// payloadType is the DSSE payload type of an in-toto statement.
const payloadType = "application/vnd.in-toto+json"

// maxAttestation is how large an attestation file may be.
const maxAttestation = 1 << 20

// A Statement is what deed claims of an attempt under its signature.
type Statement struct {
	TaskID      string   `json:"taskId"`
	AttemptID   string   `json:"attemptId"`
	Verdict     string   `json:"verdict"`           // accepted, rejected, or none when no gate ran
	Grade       string   `json:"grade,omitempty"`   // of an accepted one: unchecked, passing or fixed
	Reasons     []string `json:"reasons,omitempty"` // codes of the verdict
	Status      string   `json:"status"`            // how the attempt ended
	Containment string   `json:"containment"`       // none, process, namespace or container
	DeedVersion string   `json:"deedVersion,omitempty"`
}

// A Predicate is the signed predicate: the statement, what it is tied to, and how far it can be relied on.
type Predicate struct {
	Statement
	BundleID  string          `json:"bundleId"`
	CreatedAt string          `json:"createdAt"`
	Signer    PredicateSigner `json:"signer"`
	Note      string          `json:"note"`
}

// A PredicateSigner carries the public key, so that any verifier can distinguish a broken signature from an unknown key.
// It proves nothing about who holds the key.
type PredicateSigner struct {
	KeyID     string `json:"keyId"`
	PublicKey string `json:"publicKey"`
}

// containmentNote says what a signature is worth under a containment kind.
func containmentNote(kind string) string {
	switch kind {
	case "none", "process":
		return "The agent ran as the same user as deed, without a sandbox (containment \"" + kind + "\"): it could have read the signing key. " +
			"The signature shows that the bundle did not change since it was signed, not that the agent had no part in signing it."
	}
	return "The agent ran in a sandbox (containment \"" + kind + "\") that does not contain the signing key."
}

// sign returns the attestation file: a DSSE envelope with an in-toto statement whose subjects are the manifest and the patch.
func sign(k *Key, s Statement, bundleID, attested, patchSHA, createdAt string) ([]byte, error) {
	p := Predicate{
		Statement: s, BundleID: bundleID, CreatedAt: createdAt, Note: containmentNote(s.Containment),
		Signer: PredicateSigner{KeyID: k.Public().ID, PublicKey: string(k.Public().PEM())},
	}
	p.Verdict = cmp.Or(p.Verdict, "none")
	payload, err := canonjson.Marshal(statement{
		Type: statementType, PredicateType: PredicateType, Predicate: p,
		Subject: []subject{
			{evidence.PathManifest, map[string]string{algorithmAttested: attested}},
			{evidence.PathPatch, map[string]string{evidence.AlgorithmSHA256: patchSHA}},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("attest: %w", err)
	}
	return encode(k.seal(payloadType, payload), "  ")
}

// An attestation is a parsed envelope whose signature was checked with the key that it names itself.
type attestation struct {
	predicate   Predicate
	key         PublicKey
	manifestSum string
	patchSum    string
}

// openAttestation parses an envelope, checks its signature with one of keys or else with the key inside, and returns what it
// says. The signature covers the payload and its type only, so the file must be byte for byte what sign writes for them:
// anything else would be unsigned content in a file that counts as signed. An error means that nothing in it can be relied
// on.
func openAttestation(data []byte, keys []PublicKey) (attestation, error) {
	var a attestation
	var e dsse.Envelope
	if err := json.Unmarshal(data, &e); err != nil {
		return a, fmt.Errorf("not a DSSE envelope: %w", err)
	}
	if e.PayloadType != payloadType {
		return a, fmt.Errorf("payload type is %q, not %q", e.PayloadType, payloadType)
	}
	if n := len(e.Signatures); n != 1 {
		return a, fmt.Errorf("the envelope has %d signatures, not one", n)
	}
	payload, err := base64.StdEncoding.DecodeString(e.Payload)
	if err != nil {
		return a, fmt.Errorf("payload: %w", err)
	}
	st, err := readStatement(payload)
	if err != nil {
		return a, fmt.Errorf("payload is not an in-toto statement: %w", err)
	}
	if err := st.validate(); err != nil {
		return a, fmt.Errorf("payload is not a valid in-toto statement: %w", err)
	}
	if st.typ != statementType || st.predicateType != PredicateType {
		return a, fmt.Errorf("statement is a %q with predicate %q, not %q", st.typ, st.predicateType, PredicateType)
	}
	text, err := json.Marshal(st.predicate)
	if err == nil {
		err = json.Unmarshal(text, &a.predicate)
	}
	if err != nil {
		return a, fmt.Errorf("predicate: %w", err)
	}
	inside, err := ParsePublicKey([]byte(a.predicate.Signer.PublicKey))
	if err != nil {
		return a, fmt.Errorf("predicate names no usable key: %w", err)
	}
	for _, k := range append(append([]PublicKey(nil), keys...), inside) {
		if k.verifies(e.Signatures[0], payloadType, payload) {
			a.key = k
			break
		}
	}
	if a.key.key == nil {
		return a, errors.New("the signature fits neither a given key nor the key inside")
	}
	if err := asWritten(data, e, payload, a.key); err != nil {
		return a, err
	}
	for _, s := range st.subjects {
		switch s.name {
		case evidence.PathManifest:
			a.manifestSum = s.digest[algorithmAttested]
		case evidence.PathPatch:
			a.patchSum = s.digest[evidence.AlgorithmSHA256]
		}
	}
	return a, nil
}

// asWritten compares an attestation file with the one encoding of what was verified in it.
func asWritten(data []byte, e dsse.Envelope, payload []byte, k PublicKey) error {
	sig, err := base64.StdEncoding.DecodeString(e.Signatures[0].Sig)
	if err != nil {
		return fmt.Errorf("signature: %w", err)
	}
	want, err := encode(enclose(payloadType, payload, sig, k.ID), "  ")
	if err != nil {
		return err
	}
	if !bytes.Equal(data, want) {
		return errors.New("the file holds more than the signed statement and its signature, or spells them in another way than deed does")
	}
	return nil
}
