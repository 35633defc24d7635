package bundle

import (
	"crypto/ed25519"
	"encoding/base64"
	"strconv"
)

// An envelope is a Dead Simple Signing Envelope. The tests hold it against the library of the format's authors, in both
// directions; that one brings an SSH implementation with it for a kind of key that deed does not have.
type envelope struct {
	PayloadType string      `json:"payloadType"`
	Payload     string      `json:"payload"` // base64
	Signatures  []signature `json:"signatures"`
}

// A signature is one of an envelope.
type signature struct {
	KeyID string `json:"keyid"`
	Sig   string `json:"sig"` // base64
}

// seal puts a payload and a signature of it into an envelope.
func seal(payloadType string, payload, sig []byte, keyID string) envelope {
	return envelope{
		PayloadType: payloadType, Payload: base64.StdEncoding.EncodeToString(payload),
		Signatures: []signature{{KeyID: keyID, Sig: base64.StdEncoding.EncodeToString(sig)}},
	}
}

// signed is what a signature covers: the payload and its type, with their lengths, so that neither can be taken for a part of
// the other.
func signed(payloadType string, payload []byte) []byte {
	b := make([]byte, 0, len(payloadType)+len(payload)+32)
	b = append(b, "DSSEv1 "...)
	b = append(strconv.AppendInt(b, int64(len(payloadType)), 10), ' ')
	b = append(append(b, payloadType...), ' ')
	b = append(strconv.AppendInt(b, int64(len(payload)), 10), ' ')
	return append(b, payload...)
}

// fits reports whether a signature of the payload is one of the key, by the name that it gives and by what it is.
func (s signature) fits(k PublicKey, payloadType string, payload []byte) bool {
	sig, err := base64.StdEncoding.DecodeString(s.Sig)
	return err == nil && s.KeyID == k.ID && ed25519.Verify(k.key, signed(payloadType, payload), sig)
}
