package egress

import (
	"context"
	"net"
	"net/netip"
)

// SetDial stands in for the internet.
func (p *Proxy) SetDial(dial func(ctx context.Context, network, address string) (net.Conn, error)) {
	p.dial = dial
}

// NotPublic says why a name must not lead to an address.
func NotPublic(a netip.Addr) string { return notPublic(a) }

// ParseHead returns the target of a head, or why it is refused.
func ParseHead(head []byte) (host string, port uint16, origin []byte, err error) {
	r, err := parseRequest(head)
	if err != nil {
		return "", 0, nil, err
	}
	return r.target.host, r.target.port, r.origin(), nil
}

// ParseTarget reads a target as CONNECT does.
func ParseTarget(text string) (host string, addr netip.Addr, port uint16, ok bool) {
	t, bad := parseTarget(text, 0)
	return t.host, t.addr, t.port, bad == nil
}
