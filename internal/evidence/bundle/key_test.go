package bundle_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/deedrun/deed/internal/evidence/bundle"
)

func TestKeyIsMadeOnceByManyProcesses(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "deep", "keys")
	const n = 6
	ids := make([]string, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			out, err := helper("BUNDLE_TEST_KEY=" + dir).CombinedOutput()
			if err != nil {
				t.Errorf("%v: %s", err, out)
			}
			ids[i] = string(out)
		})
	}
	wg.Wait()
	for _, id := range ids {
		if id != ids[0] || len(id) != 64 {
			t.Errorf("ids are %q", ids)
		}
	}
	for p, want := range map[string]os.FileMode{".": 0o700, "ed25519.pem": 0o600} {
		info, err := os.Stat(filepath.Join(dir, p))
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", p, info.Mode(), err)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("entries: %v, %v", entries, err)
	}
}

func TestKeyFaults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		mode os.FileMode
		want string
	}{
		"open to others": {"", 0o644, "chmod 600"},
		"empty":          {"", 0o600, "not a PEM file"},
		"garbage":        {"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", 0o600, "read signing key"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			p := filepath.Join(dir, "ed25519.pem")
			if err := os.WriteFile(p, []byte(c.text), c.mode); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(p, c.mode); err != nil {
				t.Fatal(err)
			}
			if _, err := bundle.LoadOrCreateKey(dir); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// Keys are identified by their public parts as the standard library knows them: in the form that deed writes, and in the longer
// one of tools that write the public part after the seed. A key of another kind is refused.
func TestKeyForms(t *testing.T) {
	t.Parallel()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	short, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	long := append([]byte{0x30, byte(len(short) - 2 + 2 + len(public) + 1)}, short[2:]...)
	long[4] = 1 // the version that has a public part
	long = append(append(long, 0x81, byte(len(public)+1), 0), public...)
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	other, err := x509.MarshalPKCS8PrivateKey(curve)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		der  []byte
		want string // of the fault
	}{
		"short":        {short, ""},
		"long":         {long, ""},
		"cut":          {short[:len(short)-1], "read signing key"},
		"another kind": {other, "not an ed25519 key"},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "ed25519.pem"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: c.der}), 0o600); err != nil {
			t.Fatal(err)
		}
		k, err := bundle.LoadOrCreateKey(dir)
		if c.want != "" {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: got %v", name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		block, _ := pem.Decode(k.Public().PEM())
		if got, err := x509.ParsePKIXPublicKey(block.Bytes); err != nil || !public.Equal(got) {
			t.Errorf("%s: its public part is %x (%v), not %x", name, got, err, public)
		}
	}
}

func TestTrustedKeys(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "keys [1]")
	if keys, err := bundle.TrustedKeys(dir); err != nil || len(keys) != 0 {
		t.Errorf("got %v, %v", keys, err)
	}
	own, err := bundle.LoadOrCreateKey(dir)
	if err != nil {
		t.Fatal(err)
	}
	friend := key(t)
	parsed, err := bundle.ParsePublicKey(friend.Public().PEM())
	if err != nil || !parsed.Equal(friend.Public()) || parsed.ID != friend.Public().ID {
		t.Fatalf("got %v, %v", parsed, err)
	}
	if err := bundle.Trust(dir, parsed); err != nil {
		t.Fatal(err)
	}
	keys, err := bundle.TrustedKeys(dir)
	if err != nil || len(keys) != 2 || !keys[0].Equal(own.Public()) || !keys[1].Equal(friend.Public()) {
		t.Errorf("got %v, %v", keys, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "trusted", "x.pem"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := bundle.TrustedKeys(dir); err == nil {
		t.Error("a broken trusted key was passed over")
	}
}

func TestKeyNeverPrintsItself(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "keys")
	k, err := bundle.LoadOrCreateKey(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		if s, v := fmt.Sprintf(verb, k), fmt.Sprintf(verb, *k); s != "ed25519 key "+k.Public().ID || v != s {
			t.Errorf("%s prints %q", verb, s)
		}
	}
	if b := k.Public().PEM(); bytes.Contains(b, []byte("PRIVATE")) {
		t.Errorf("got %s", b)
	}
}
