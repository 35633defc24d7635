package bundle

import (
	"crypto/ed25519"
	"encoding/base64"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"
)

// seal signs a payload and puts both into an envelope (DSSE).
func (k *Key) seal(payloadType string, payload []byte) dsse.Envelope {
	sig := ed25519.Sign(k.private, dsse.PAE(payloadType, payload))
	return enclose(payloadType, payload, sig, k.Public().ID)
}

// enclose puts a payload and its one signature into an envelope.
func enclose(payloadType string, payload, sig []byte, keyID string) dsse.Envelope {
	return dsse.Envelope{
		PayloadType: payloadType, Payload: base64.StdEncoding.EncodeToString(payload),
		Signatures: []dsse.Signature{{KeyID: keyID, Sig: base64.StdEncoding.EncodeToString(sig)}},
	}
}

// verifies reports whether s names the key and is its signature of the payload. The library's verifier takes more than this: keys
// without a name, and other spellings of base64. deed writes one form and accepts that one.
func (k PublicKey) verifies(s dsse.Signature, payloadType string, payload []byte) bool {
	sig, err := base64.StdEncoding.DecodeString(s.Sig)
	return err == nil && s.KeyID == k.ID && ed25519.Verify(k.key, dsse.PAE(payloadType, payload), sig)
}
