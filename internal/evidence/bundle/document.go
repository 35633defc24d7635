package bundle

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"
)

// SignDocument returns a document in the envelope of the attestations, signed with the key. payloadType says what the document is, and
// is signed with it.
func (k *Key) SignDocument(payloadType string, document []byte) ([]byte, error) {
	return encode(k.seal(payloadType, document), "  ")
}

// OpenDocument returns the document that SignDocument put into an envelope, and which of the keys signed it. An error means that
// nothing in it can be relied on.
func OpenDocument(payloadType string, data []byte, keys []PublicKey) ([]byte, PublicKey, error) {
	var e dsse.Envelope
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
		if k.verifies(e.Signatures[0], payloadType, document) {
			return document, k, nil
		}
	}
	return nil, PublicKey{}, errors.New("the signature fits none of the keys")
}
