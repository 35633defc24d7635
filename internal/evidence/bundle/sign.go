package bundle

import (
	"crypto/ed25519"
	"crypto/sha512"

	"filippo.io/edwards25519"
)

// publicOf and signWith are crypto/ed25519 without the table of multiples of the base point that its first signature of a process makes:
// a millisecond for a table that serves thousands of signatures, in processes that make one. The arithmetic is the package that the
// standard library's grew out of, in its constant-time form; a test holds both against the standard library bit by bit. Signatures are
// verified by the standard library alone.

// A secret is what RFC 8032 makes of a seed.
type secret struct {
	scalar *edwards25519.Scalar
	prefix []byte
}

func secretOf(seed []byte) secret {
	h := sha512.Sum512(seed)
	s, err := edwards25519.NewScalar().SetBytesWithClamping(h[:32])
	if err != nil {
		panic("bundle: a scalar has 32 bytes: " + err.Error())
	}
	return secret{scalar: s, prefix: h[32:]}
}

// publicOf is the public key of a seed.
func publicOf(seed []byte) ed25519.PublicKey {
	return ed25519.PublicKey(timesBase(secretOf(seed).scalar))
}

// signWith signs a message with a seed, whose public key is given.
func signWith(seed []byte, public ed25519.PublicKey, message []byte) []byte {
	s := secretOf(seed)
	nonce := reduced(s.prefix, message)
	point := timesBase(nonce)
	challenge := reduced(point, public, message)
	return append(point, edwards25519.NewScalar().MultiplyAdd(challenge, s.scalar, nonce).Bytes()...)
}

func timesBase(s *edwards25519.Scalar) []byte {
	return new(edwards25519.Point).ScalarMult(s, edwards25519.NewGeneratorPoint()).Bytes()
}

// reduced is the hash of what is given, as a scalar.
func reduced(parts ...[]byte) *edwards25519.Scalar {
	h := sha512.New()
	for _, p := range parts {
		h.Write(p)
	}
	s, err := edwards25519.NewScalar().SetUniformBytes(h.Sum(nil))
	if err != nil {
		panic("bundle: a SHA-512 has 64 bytes: " + err.Error())
	}
	return s
}
