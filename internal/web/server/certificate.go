package server

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/deedrun/deed/internal/base/clock"
)

// lookAgain is how often the files of a certificate are looked at: renewals come every few weeks.
const lookAgain = 30 * time.Second

// A certificate is what the server presents. A renewed file is taken at the next handshake; one that cannot be read leaves the
// old one in use, and is logged.
type certificate struct {
	certFile, keyFile string
	log               *slog.Logger

	mu     sync.Mutex
	now    *tls.Certificate // guarded by mu
	stamp  string           // of the files as they were read; guarded by mu
	looked time.Time        // guarded by mu
}

func loadCertificate(certFile, keyFile string, log *slog.Logger) (*certificate, error) {
	c := &certificate{certFile: certFile, keyFile: keyFile, log: log, stamp: stampOf(certFile, keyFile), looked: clock.Start()}
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return nil, fmt.Errorf("TLS certificate %s with key %s: %w", certFile, keyFile, err)
	}
	c.now = &pair
	return c, nil
}

func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if clock.Since(c.looked) < lookAgain {
		return c.now, nil
	}
	c.looked = clock.Start()
	if stamp := stampOf(c.certFile, c.keyFile); stamp != c.stamp {
		pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
		if err != nil {
			c.log.Warn("the TLS certificate has changed and cannot be used; the old one is shown", "file", c.certFile, "error", err)
			return c.now, nil // the next look tries again: the two files are not written in one step
		}
		c.now, c.stamp = &pair, stamp
	}
	return c.now, nil
}

// names are the host names of the certificate; those with a wildcard are left to --host.
func (c *certificate) names() []string {
	var out []string
	if leaf := c.now.Leaf; leaf != nil {
		for _, n := range leaf.DNSNames {
			if _, err := netip.ParseAddr(n); err != nil && !strings.Contains(n, "*") {
				out = append(out, strings.ToLower(n))
			}
		}
	}
	return out
}

// stampOf shows whether files have changed.
func stampOf(files ...string) string {
	var b strings.Builder
	for _, f := range files {
		if fi, err := os.Stat(f); err == nil {
			fmt.Fprintf(&b, "%d %d ", fi.ModTime().UnixNano(), fi.Size())
		}
	}
	return b.String()
}
