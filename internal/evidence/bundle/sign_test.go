package bundle

import (
	"bytes"
	"crypto/ed25519"
	"encoding/hex"
	"testing"

	"pgregory.net/rapid"
)

// TestSigningIsTheStandardLibrarys: for every seed and message the public key and the signature are those of crypto/ed25519.
func TestSigningIsTheStandardLibrarys(t *testing.T) {
	t.Parallel()
	same := func(t rapid.TB, seed, message []byte) {
		want := ed25519.NewKeyFromSeed(seed)
		public := publicOf(seed)
		if !want.Public().(ed25519.PublicKey).Equal(public) {
			t.Fatalf("seed %x: public key %x", seed, public)
		}
		if got := signWith(seed, public, message); !bytes.Equal(got, ed25519.Sign(want, message)) || !ed25519.Verify(public, message, got) {
			t.Fatalf("seed %x, message %x: signature %x", seed, message, got)
		}
	}
	for _, b := range []byte{0x00, 0x01, 0x7f, 0x80, 0xff} {
		same(t, bytes.Repeat([]byte{b}, ed25519.SeedSize), nil)
	}
	rapid.Check(t, func(r *rapid.T) {
		same(r, rapid.SliceOfN(rapid.Byte(), ed25519.SeedSize, ed25519.SeedSize).Draw(r, "seed"), rapid.SliceOfN(rapid.Byte(), 0, 4096).Draw(r, "message"))
	})
}

// TestSigningKeepsToTheRFC: the second vector of RFC 8032, 7.1.
func TestSigningKeepsToTheRFC(t *testing.T) {
	t.Parallel()
	unhex := func(s string) []byte {
		b, err := hex.DecodeString(s)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	seed := unhex("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb")
	public := unhex("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c")
	sig := unhex("92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00")
	if got := publicOf(seed); !bytes.Equal(got, public) {
		t.Errorf("public key %x", got)
	}
	if got := signWith(seed, public, []byte{0x72}); !bytes.Equal(got, sig) {
		t.Errorf("signature %x", got)
	}
}
