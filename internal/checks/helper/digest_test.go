package helper

import (
	"crypto/sha1" //nolint:gosec // the contract names it; nobody relies on it against forgery
	"crypto/sha256"
	"encoding/hex"
)

func sha1Hex(s string) string {
	sum := sha1.Sum([]byte(s)) //nolint:gosec // as above
	return hex.EncodeToString(sum[:])
}

func sha256Hex(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}
