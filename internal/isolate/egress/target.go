package egress

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// A target is where a request wants to go: a name or a literal address, in its one spelling, and a port.
type target struct {
	host string     // lower case, without a final dot; for an address its text
	addr netip.Addr // valid for a literal address
	port uint16
}

// String returns the target as a rule would name it.
func (t target) String() string { return joinHostPort(t.host, t.addr, t.port) }

func joinHostPort(host string, addr netip.Addr, port uint16) string {
	if addr.Is6() {
		host = "[" + host + "]"
	}
	return host + ":" + strconv.Itoa(int(port))
}

// A spelling says what is wrong with the text of a host, and how to write it.
type spelling struct{ message, remedy string }

func (s *spelling) Error() string { return s.message + " (" + s.remedy + ")" }

func misspelt(remedy, format string, args ...any) *spelling {
	return &spelling{message: fmt.Sprintf(format, args...), remedy: remedy}
}

// parseTarget reads host:port. Without a port it takes otherwise, and refuses when that is zero.
func parseTarget(text string, otherwise uint16) (target, *spelling) {
	host, port, err := splitPort(text)
	if err != nil {
		return target{}, err
	}
	if port == 0 {
		port = otherwise
	}
	if port == 0 {
		return target{}, misspelt("write host:port", "%s names no port", quoteShort(text))
	}
	t := target{port: port}
	t.host, t.addr, err = parseHost(host)
	return t, err
}

// splitPort cuts a port off an authority; port is zero when there is none. The brackets of an IPv6 address stay.
func splitPort(text string) (host string, port uint16, _ *spelling) {
	digits, found := "", false
	if strings.HasPrefix(text, "[") {
		end := strings.IndexByte(text, ']')
		if end < 0 {
			return "", 0, misspelt("write it as in [::1]:9000", "%s has a bracket that is not closed", quoteShort(text))
		}
		host = text[:end+1]
		if rest := text[end+1:]; rest != "" {
			if digits, found = strings.CutPrefix(rest, ":"); !found {
				return "", 0, misspelt("write it as in [::1]:9000", "%s has text after the bracket", quoteShort(text))
			}
		}
	} else if strings.Count(text, ":") > 1 {
		return "", 0, misspelt("write an IPv6 address in brackets, as in [::1]:9000", "%s has more than one colon", quoteShort(text))
	} else {
		host, digits, found = strings.Cut(text, ":")
	}
	if !found {
		return host, 0, nil
	}
	n, err := strconv.ParseUint(digits, 10, 16)
	if err != nil || n == 0 || strconv.FormatUint(n, 10) != digits {
		return "", 0, misspelt("use 1 to 65535, in plain digits", "%s has the port %s", quoteShort(text), quoteShort(digits))
	}
	return host, uint16(n), nil
}

const (
	maxName  = 253
	maxLabel = 63
)

// parseHost reads a name or an address. Every host has one spelling here: what another parser could take for a different
// host, such as 0177.0.0.1, 127.1 or a full-width dot, is refused rather than guessed at.
func parseHost(text string) (host string, addr netip.Addr, _ *spelling) {
	if inner, ok := strings.CutPrefix(text, "["); ok {
		return parseIPv6(strings.TrimSuffix(inner, "]"))
	}
	name := strings.ToLower(strings.TrimSuffix(text, "."))
	if name == "" {
		return "", netip.Addr{}, misspelt("name a host, as in api.example.com", "%s has no host", quoteShort(text))
	}
	for i := range len(name) {
		if name[i] >= 0x80 {
			return "", netip.Addr{}, misspelt("write the name in its ASCII form, as in xn--bcher-kva.example", "%s is not ASCII", quoteShort(text))
		}
	}
	if endsInNumber(name) {
		addr, err := netip.ParseAddr(name)
		if err != nil || !addr.Is4() {
			return "", netip.Addr{}, misspelt("write four decimal numbers, as in 192.0.2.7", "%s is an odd spelling of an IPv4 address", quoteShort(text))
		}
		return addr.String(), addr, nil
	}
	if len(name) > maxName {
		return "", netip.Addr{}, misspelt(fmt.Sprintf("use at most %d characters", maxName), "a host name has %d characters", len(name))
	}
	for label := range strings.SplitSeq(name, ".") {
		if !isLabel(label) {
			return "", netip.Addr{}, misspelt("use letters, digits and hyphens between the dots", "%s is not a host name", quoteShort(text))
		}
	}
	return name, netip.Addr{}, nil
}

func parseIPv6(text string) (host string, addr netip.Addr, _ *spelling) {
	addr, err := netip.ParseAddr(text)
	switch {
	case err != nil || !addr.Is6():
		return "", netip.Addr{}, misspelt("write it as in [::1]:9000", "%s in brackets is not an IPv6 address", quoteShort(text))
	case addr.Zone() != "":
		return "", netip.Addr{}, misspelt("leave the zone out", "%s has a zone", quoteShort(text))
	case addr.Is4In6():
		return "", netip.Addr{}, misspelt("write "+addr.Unmap().String(), "%s is an odd spelling of an IPv4 address", quoteShort(text))
	}
	return addr.String(), addr, nil
}

// endsInNumber recognizes what browsers and C libraries read as an IPv4 address: a last part of digits, or in hexadecimal.
func endsInNumber(name string) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return last != "" && strings.Trim(last, "0123456789") == ""
}

// isLabel allows the underscore, which host names do not have but service names do.
func isLabel(label string) bool {
	if label == "" || len(label) > maxLabel || label[0] == '-' || label[len(label)-1] == '-' {
		return false
	}
	return strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") == ""
}

// quoteShort quotes untrusted text, and keeps it short.
func quoteShort(text string) string {
	const most = 80
	if len(text) > most {
		return strconv.QuoteToASCII(text[:most]) + "…"
	}
	return strconv.QuoteToASCII(text)
}
