package egress_test

import (
	"bufio"
	"bytes"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"github.com/deedrun/deed/internal/isolate/egress"
)

// FuzzTarget: what is accepted has one spelling, and a host that any C library would take for an address is one.
func FuzzTarget(f *testing.F) {
	for _, s := range []string{"a.example:443", "127.0.0.1:80", "[::1]:80", "0x7f.1:80", "2130706433:80", "a.example.:1", "A.b:65535", "[::ffff:1.2.3.4]:1", "１２７.0.0.1:80", "a\x00b:1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		host, addr, port, ok := egress.ParseTarget(text)
		if !ok {
			return
		}
		if port == 0 || host == "" || host != strings.ToLower(host) || strings.HasSuffix(host, ".") {
			t.Fatalf("%q became %q %d", text, host, port)
		}
		for _, c := range []byte(host) {
			if c <= ' ' || c >= 0x7f || strings.IndexByte("/@#?%\\*", c) >= 0 {
				t.Fatalf("%q became %q", text, host)
			}
		}
		if !addr.IsValid() {
			if _, err := netip.ParseAddr(host); err == nil {
				t.Fatalf("%q is an address that was taken for a name", host)
			}
			last := host[strings.LastIndexByte(host, '.')+1:]
			base := 10
			if hex, ok := strings.CutPrefix(last, "0x"); ok {
				last, base = hex, 16
			}
			if _, err := strconv.ParseUint(last, base, 64); err == nil {
				t.Fatalf("%q is a name that ends in a number", host)
			}
		} else if addr.Zone() != "" || addr.Is4In6() {
			t.Fatalf("%q became %s", text, addr)
		}
		again := host
		if addr.Is6() {
			again = "[" + host + "]"
		}
		h, a, p, ok := egress.ParseTarget(again + ":" + strconv.Itoa(int(port)))
		if !ok || h != host || a != addr || p != port {
			t.Fatalf("%q is not stable: %q", text, h)
		}
	})
}

// FuzzRequest: what is accepted is one request to another reader too, for the host that was judged, and what goes to the
// server has no framing but the one that was understood.
func FuzzRequest(f *testing.F) {
	for _, s := range []string{
		"GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
		"POST http://a.example:81/x?y HTTP/1.1\r\nHost: a.example:81\r\nContent-Length: 5\r\nConnection: x\r\nX: y\r\n\r\n",
		"POST http://a.example HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: chunked\r\n\r\n",
		"CONNECT a.example:443 HTTP/1.1\r\n\r\n",
		"GET http://a.example/ HTTP/1.0\r\nX:\tb\r\n\r\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, head []byte) {
		// The reader of heads gives no other: one empty line, at the end.
		head, _, _ = bytes.Cut(head, []byte("\r\n\r\n"))
		head = append(bytes.Clone(head), "\r\n\r\n"...)
		host, port, origin, err := egress.ParseHead(head)
		if err != nil || bytes.HasPrefix(head, []byte("CONNECT ")) {
			return
		}
		br := bufio.NewReader(bytes.NewReader(origin))
		req, err := http.ReadRequest(br)
		if err != nil {
			// The standard library is stricter about the path; it must agree about everything else.
			if strings.Contains(err.Error(), "parse") {
				return
			}
			t.Fatalf("%q: %v", origin, err)
		}
		if br.Buffered() > 0 {
			t.Fatalf("%q is more than a head", origin)
		}
		seen, _, _, ok := egress.ParseTarget(req.Host)
		if !ok {
			seen, _, _, ok = egress.ParseTarget(req.Host + ":80")
		}
		if !ok || seen != host || port == 0 {
			t.Fatalf("the server sees %q, judged was %q", req.Host, host)
		}
		if len(req.Header["Transfer-Encoding"])+len(req.Header["Connection"])+len(req.Header["Proxy-Authorization"]) > 1 {
			t.Fatalf("headers %v", req.Header)
		}
		if len(req.TransferEncoding) > 0 && bytes.Contains(bytes.ToLower(origin), []byte("\r\ncontent-length:")) {
			t.Fatalf("%q has two framings", origin)
		}
	})
}
