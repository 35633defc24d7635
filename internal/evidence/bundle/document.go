package bundle

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
)

// SignDocument returns a document in the envelope of the attestations, signed with the key. payloadType says what the document is, and
// is signed with it.
func (k *Key) SignDocument(payloadType string, document []byte) ([]byte, error) {
	sig := signWith(k.seed, k.Public().key, signed(payloadType, document))
	return encode(seal(payloadType, document, sig, k.Public().ID), "  ")
}

// OpenDocument returns the document that SignDocument put into an envelope, and which of the keys signed it. An error means that
// nothing in it can be relied on.
func OpenDocument(payloadType string, data []byte, keys []PublicKey) ([]byte, PublicKey, error) {
	var e envelope
	if err := json.Unmarshal(data, &e); err != nil {
		return nil, PublicKey{}, fmt.Errorf("not a DSSE envelope: %w", err)
	}
	if e.PayloadType != payloadType {
		return nil, PublicKey{}, fmt.Errorf("payload type is %q, not %q", e.PayloadType, payloadType)
	}
	if n := len(e.Signatures); n != 1 {
		return nil, PublicKey{}, fmt.Errorf("the envelope has %d signatures, not one", n)
	}
	document, err := base64.StdEncoding.DecodeString(e.Payload)
	if err != nil {
		return nil, PublicKey{}, fmt.Errorf("payload: %w", err)
	}
	for _, k := range keys {
		if e.Signatures[0].fits(k, payloadType, document) {
			return document, k, nil
		}
	}
	return nil, PublicKey{}, errors.New("the signature fits none of the keys")
}
