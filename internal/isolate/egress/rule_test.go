package egress_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/internal/isolate/egress"
)

func TestParseRules(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"api.example.com":          "api.example.com",
		"API.Example.COM.":         "api.example.com",
		"api.example.com:8443":     "api.example.com:8443",
		"api.example.com.:8443":    "api.example.com:8443",
		"*.example.com":            "*.example.com",
		"*.Example.com:443":        "*.example.com:443",
		"127.0.0.1:8080":           "127.0.0.1:8080",
		"10.1.2.3:1":               "10.1.2.3:1",
		"[::1]:9000":               "[::1]:9000",
		"[0:0:0:0:0:0:0:1]:9000":   "[::1]:9000",
		"xn--bcher-kva.example:80": "xn--bcher-kva.example:80",
		"_dmarc.example.com":       "_dmarc.example.com",
		"LocalHost.:8080":          "localhost:8080",
		"intranet":                 "intranet",
		"1e100.net":                "1e100.net",
	} {
		rules, err := egress.ParseRules([]string{text})
		if err != nil || len(rules) != 1 || rules[0].String() != want {
			t.Errorf("%s: got %v, %v; want %s", text, rules, err, want)
		}
	}
}

func TestBadRulesAreAllNamed(t *testing.T) {
	t.Parallel()
	bad := []string{
		"", "  ", "https://example.com", "example.com/path", "example.com?x", "user@example.com", "a b.example",
		"*", "*.", "*.com", "*.*.example.com", "a*.example.com", "foo.*.example.com", "*.10.0.0.1", "*:443",
		"example.com:", "example.com:0", "example.com:65536", "example.com:080", "example.com:+80", "example.com:http", "example.com:*",
		"bücher.example", "example。com", "ex%61mple.com", "-a.example", "a-.example", "a..example", ".example", "..", ".",
		strings.Repeat("a", 64) + ".example", strings.Repeat("a.", 130) + "example",
		"::1", "::1:9000", "[::1", "[::1]9000", "[::1]", "[fe80::1%eth0]:80", "[::ffff:127.0.0.1]:80", "[127.0.0.1]:80", "[example.com]:80",
		"127.0.0.1", "127.1:80", "0177.0.0.1:80", "0x7f.0.0.1:80", "2130706433:80", "0x7f000001:80", "127.0.0.1.5:80", "1.2.3.04:80",
		"localhost", "*.localhost:80", "x.localhost:80", "x.localhost", "LOCALHOST.",
		"169.254.169.254:80", "169.254.1.1:80", "[fd00:ec2::254]:80", "100.100.100.200:80", "168.63.129.16:80", "[64:ff9b::a9fe:a9fe]:80",
		"0.0.0.0:80", "[::]:80", "224.0.0.1:80", "255.255.255.255:80", "[ff02::1]:80", "[fe80::1]:80", "[2002:a9fe:a9fe::]:80",
		"example.com\x00", "exa\nmple.com",
	}
	rules, err := egress.ParseRules(append([]string{"good.example"}, bad...))
	if rules != nil {
		t.Errorf("rules beside faults: %v", rules)
	}
	faults := map[string]fault.Fault{}
	for _, f := range fault.Of(err) {
		faults[f.Path] = f
	}
	if _, ok := faults["$[0]"]; ok {
		t.Error("the good rule is faulted")
	}
	for i, text := range bad {
		f, ok := faults[fault.Index(fault.Root, i+1)]
		if !ok {
			t.Errorf("%q was accepted", text)
		} else if f.Remedy == "" || f.Message == "" {
			t.Errorf("%q: no message or no remedy: %+v", text, f)
		}
	}
}

func TestEqualRulesAreOne(t *testing.T) {
	t.Parallel()
	rules, err := egress.ParseRules([]string{"a.example", "A.example.", "a.example:443"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range rules {
		got = append(got, r.String())
	}
	if diff := cmp.Diff([]string{"a.example", "a.example:443"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestNotPublic(t *testing.T) {
	t.Parallel()
	for text, public := range map[string]bool{
		"93.184.216.34": true, "8.8.8.8": true, "100.63.255.255": true, "100.128.0.0": true, "172.15.0.1": true, "172.32.0.1": true,
		"2606:2800:220:1:248:1893:25c8:1946": true, "64:ff9b::808:808": true, "2002:808:808::1": true, "::ffff:8.8.8.8": true,
		"10.0.0.1": false, "172.16.0.1": false, "172.31.255.255": false, "192.168.1.1": false, "127.0.0.1": false, "127.255.0.1": false,
		"0.0.0.0": false, "0.1.2.3": false, "100.64.0.1": false, "100.127.255.255": false, "169.254.169.254": false, "169.254.0.23": false,
		"192.0.0.192": false, "192.0.2.1": false, "198.18.0.1": false, "198.19.255.255": false, "198.51.100.1": false, "203.0.113.9": false,
		"224.0.0.1": false, "239.255.255.250": false, "240.0.0.1": false, "255.255.255.255": false, "168.63.129.16": false, "100.100.100.200": false,
		"::": false, "::1": false, "::127.0.0.1": false, "fe80::1": false, "fe80::1%eth0": false, "fec0::1": false, "fc00::1": false, "fd00:ec2::254": false, "ff02::1": false,
		"::ffff:127.0.0.1": false, "::ffff:10.0.0.1": false, "::ffff:169.254.169.254": false,
		"64:ff9b::7f00:1": false, "64:ff9b::a9fe:a9fe": false, "64:ff9b::a00:1": false, "64:ff9b:1::808:808": false,
		"2002:7f00:1::": false, "2002:a00:1::1": false, "2002:a9fe:a9fe::": false, "2002:c0a8:101::": false,
		"2001::1": false, "2001:db8::1": false, "3fff::1": false, "100::1": false, "4000::1": false,
	} {
		if why := egress.NotPublic(netip.MustParseAddr(text)); (why == "") != public {
			t.Errorf("%s: %q, want public %v", text, why, public)
		}
	}
}
