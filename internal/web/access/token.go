package access

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"strings"
)

// A token is text that a person may have to copy: the prefix, by which scanners for leaked secrets find it, and in base32 an id, a
// secret and a checksum of both. The id finds the row, the hash of the secret is compared with the row's, and the checksum
// distinguishes a typing mistake from an unknown token. A session's cookie has the same form under another prefix.
const (
	tokenPrefix   = "deed_"
	sessionPrefix = "deeds_"

	idBytes     = 8
	secretBytes = 32
	sumBytes    = 4
)

// ErrMalformed says that a text is no token: it is cut, or a character of it is wrong.
var ErrMalformed = errors.New("not a token of deed: a character is wrong or missing")

var alphabet = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// mint makes a fresh secret text, with its id and the hash that is stored.
func mint(prefix string) (text, id, hash string) {
	raw := make([]byte, idBytes+secretBytes, idBytes+secretBytes+sumBytes)
	_, _ = rand.Read(raw) // it never fails: crypto/rand ends the process instead
	id, hash = hex.EncodeToString(raw[:idBytes]), hashOf(raw[idBytes:])
	return prefix + alphabet.EncodeToString(binary.BigEndian.AppendUint32(raw, checksum(prefix, raw))), id, hash
}

// parse takes a secret text apart. Only the one spelling that mint made is taken.
func parse(prefix, text string) (id string, secret []byte, err error) {
	body, ok := strings.CutPrefix(text, prefix)
	if !ok || len(body) != alphabet.EncodedLen(idBytes+secretBytes+sumBytes) {
		return "", nil, ErrMalformed
	}
	raw, err := alphabet.DecodeString(body)
	if err != nil || alphabet.EncodeToString(raw) != body { // spare bits at the end must be zero
		return "", nil, ErrMalformed
	}
	signed := raw[:idBytes+secretBytes]
	if binary.BigEndian.Uint32(raw[len(signed):]) != checksum(prefix, signed) {
		return "", nil, ErrMalformed
	}
	return hex.EncodeToString(raw[:idBytes]), raw[idBytes : idBytes+secretBytes], nil
}

// checksum catches typing mistakes; it protects nothing.
func checksum(prefix string, raw []byte) uint32 {
	return crc32.Update(crc32.ChecksumIEEE([]byte(prefix)), crc32.IEEETable, raw)
}

// hashOf needs neither salt nor cost: 256 random bits cannot be guessed from their hash.
func hashOf(secret []byte) string {
	sum := sha256.Sum256(secret)
	return hex.EncodeToString(sum[:])
}

func sameHash(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
