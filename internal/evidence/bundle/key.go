package bundle

import (
	"bytes"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/deedrun/deed/internal/base/atomicfile"
)

// File names in the keys directory.
const (
	privateKeyFile = "ed25519.pem"
	publicKeyFile  = "ed25519.pub.pem"
	trustedDir     = "trusted"
)

// A PublicKey verifies signatures. Its ID is the SHA-256 of its DER form in hexadecimal.
type PublicKey struct {
	ID  string
	key ed25519.PublicKey
}

// A Key signs bundles. It never prints its private part.
type Key struct {
	private ed25519.PrivateKey
	public  PublicKey
}

func newKey(private ed25519.PrivateKey) *Key {
	return &Key{private: private, public: newPublicKey(private.Public().(ed25519.PublicKey))}
}

// Public is the part that verifies what the key signed.
func (k Key) Public() PublicKey { return k.public }

// String names the key.
func (k Key) String() string { return "ed25519 key " + k.Public().ID }

// GoString is String: the private part stays out of every format verb.
func (k Key) GoString() string { return k.String() }

// MAC authenticates what this installation keeps for itself: without its key it can neither be written nor changed
// unnoticed. purpose keeps the uses apart.
func (k *Key) MAC(purpose string, data []byte) []byte {
	own := hmac.New(sha256.New, k.private.Seed())
	own.Write([]byte("deed/mac/v1\x00" + purpose))
	m := hmac.New(sha256.New, own.Sum(nil))
	m.Write(data)
	return m.Sum(nil)
}

// LoadOrCreateKey returns the installation's signing key from dir, and makes it on first use. The directory has mode 0700
// and the key 0600; a key that others can read is refused. Of several processes that make it at once one wins, and all
// return the same key.
func LoadOrCreateKey(dir string) (*Key, error) {
	path := filepath.Join(dir, privateKeyFile)
	k, err := loadKey(path)
	if !errors.Is(err, os.ErrNotExist) {
		return k, err
	}
	if err := atomicfile.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create signing key: %w", err)
	}
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("create signing key: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, fmt.Errorf("create signing key: %w", err)
	}
	err = atomicfile.CreateFile(path, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600)
	if errors.Is(err, atomicfile.ErrExists) {
		return loadKey(path) // another process was first
	}
	if err != nil {
		return nil, fmt.Errorf("create signing key: %w", err)
	}
	k = newKey(private)
	if err := atomicfile.WriteFile(filepath.Join(dir, publicKeyFile), k.Public().PEM(), 0o644); err != nil {
		return nil, fmt.Errorf("create signing key: %w", err)
	}
	return k, nil
}

func loadKey(path string) (*Key, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read signing key: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("signing key %s has mode %04o and others can use it: run chmod 600 on it, or remove it and trust a new one", path, info.Mode().Perm())
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read signing key: %w", err)
	}
	block, _ := pem.Decode(text)
	if block == nil || block.Type != "PRIVATE KEY" {
		return nil, fmt.Errorf("signing key %s is not a PEM file with a PRIVATE KEY block", path)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("read signing key %s: %w", path, err)
	}
	private, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("signing key %s is a %T, not an ed25519 key", path, parsed)
	}
	return newKey(private), nil
}

func newPublicKey(key ed25519.PublicKey) PublicKey {
	sum := sha256.Sum256(spki(key))
	return PublicKey{ID: hex.EncodeToString(sum[:]), key: key}
}

func spki(key ed25519.PublicKey) []byte {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		panic("bundle: an ed25519 key always has a DER form: " + err.Error())
	}
	return der
}

// PEM returns the key as a PUBLIC KEY block.
func (k PublicKey) PEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: spki(k.key)})
}

// Equal reports whether two keys are the same.
func (k PublicKey) Equal(o PublicKey) bool { return k.key != nil && k.key.Equal(o.key) }

// ParsePublicKey reads one PUBLIC KEY block with an ed25519 key.
func ParsePublicKey(text []byte) (PublicKey, error) {
	block, _ := pem.Decode(text)
	if block == nil || block.Type != "PUBLIC KEY" {
		return PublicKey{}, errors.New("not a PEM file with a PUBLIC KEY block")
	}
	parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return PublicKey{}, fmt.Errorf("parse public key: %w", err)
	}
	key, ok := parsed.(ed25519.PublicKey)
	if !ok {
		return PublicKey{}, fmt.Errorf("public key is a %T, not an ed25519 key", parsed)
	}
	return newPublicKey(key), nil
}

// ReadPublicKey reads a public key file.
func ReadPublicKey(path string) (PublicKey, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return PublicKey{}, fmt.Errorf("read public key: %w", err)
	}
	k, err := ParsePublicKey(text)
	if err != nil {
		return PublicKey{}, fmt.Errorf("read public key %s: %w", path, err)
	}
	return k, nil
}

// Trust adds a public key to those that the installation with keys directory dir trusts.
func Trust(dir string, k PublicKey) error {
	trusted := filepath.Join(dir, trustedDir)
	if err := atomicfile.MkdirAll(trusted, 0o700); err != nil {
		return fmt.Errorf("trust key %s: %w", k.ID, err)
	}
	return atomicfile.WriteFile(filepath.Join(trusted, k.ID+".pem"), k.PEM(), 0o644)
}

// TrustedKeys returns the keys that an installation trusts: its own, where it has one, and those added by Trust. It makes
// none. A file that does not parse is an error: trust is not guessed.
func TrustedKeys(dir string) ([]PublicKey, error) {
	var keys []PublicKey
	own, err := loadKey(filepath.Join(dir, privateKeyFile))
	switch {
	case err == nil:
		keys = append(keys, own.Public())
	case !errors.Is(err, os.ErrNotExist):
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(escapeGlob(dir), trustedDir, "*.pem"))
	if err != nil {
		return nil, fmt.Errorf("list trusted keys: %w", err)
	}
	for _, f := range files {
		k, err := ReadPublicKey(f)
		if err != nil {
			return nil, err
		}
		keys = append(keys, k)
	}
	return keys, nil
}

// escapeGlob keeps a directory name with pattern characters a name.
func escapeGlob(dir string) string {
	var b bytes.Buffer
	for _, c := range dir {
		if c == '*' || c == '?' || c == '[' || c == '\\' {
			b.WriteByte('\\')
		}
		b.WriteRune(c)
	}
	return b.String()
}
