package egress

import "net/netip"

// special lists addresses that an allowed name must not resolve to, in addition to those that netip itself knows as private,
// loopback, link-local, multicast or unspecified. To allow a name is to allow a public server, never an internal address.
var special = []struct {
	prefix netip.Prefix
	what   string
}{
	{netip.MustParsePrefix("0.0.0.0/8"), "an address of this network"},
	{netip.MustParsePrefix("100.64.0.0/10"), "an address shared by a carrier's customers"},
	{netip.MustParsePrefix("192.0.0.0/24"), "an address for protocols"},
	{netip.MustParsePrefix("192.0.2.0/24"), "an address for documents"},
	{netip.MustParsePrefix("192.88.99.0/24"), "an address of a 6to4 relay"},
	{netip.MustParsePrefix("198.18.0.0/15"), "an address for benchmarks"},
	{netip.MustParsePrefix("198.51.100.0/24"), "an address for documents"},
	{netip.MustParsePrefix("203.0.113.0/24"), "an address for documents"},
	{netip.MustParsePrefix("240.0.0.0/4"), "a reserved address"},
	{netip.MustParsePrefix("2001::/23"), "an address for protocols or tunnels"}, // Teredo and ORCHID among them
	{netip.MustParsePrefix("2001:db8::/32"), "an address for documents"},
	{netip.MustParsePrefix("3fff::/20"), "an address for documents"},
}

var (
	global6   = netip.MustParsePrefix("2000::/3")
	linkLocal = netip.MustParsePrefix("169.254.0.0/16")
	nat64     = netip.MustParsePrefix("64:ff9b::/96")
	sixToFour = netip.MustParsePrefix("2002::/16")
)

// metadata lists the services that hand credentials to whoever asks from inside a machine, outside of 169.254.0.0/16,
// where most of them are.
var metadata = map[netip.Addr]bool{
	netip.MustParseAddr("100.100.100.200"): true,
	netip.MustParseAddr("168.63.129.16"):   true,
	netip.MustParseAddr("192.0.0.192"):     true,
	netip.MustParseAddr("fd00:ec2::254"):   true,
	netip.MustParseAddr("fd00:ec2::23"):    true,
	netip.MustParseAddr("fd20:ce::254"):    true,
}

// embedded returns the IPv4 address to which a translating or tunnelling IPv6 address leads, or the address itself.
func embedded(a netip.Addr) netip.Addr {
	b := a.As16()
	switch {
	case a.Is4In6():
		return a.Unmap()
	case nat64.Contains(a):
		return netip.AddrFrom4([4]byte(b[12:16]))
	case sixToFour.Contains(a):
		return netip.AddrFrom4([4]byte(b[2:6]))
	}
	return a
}

// neverAllowed says why no rule can allow an address, or returns "".
func neverAllowed(a netip.Addr) string {
	a = embedded(a)
	switch {
	case metadata[a]:
		return "the address of a metadata service"
	case linkLocal.Contains(a):
		return "a link-local address, where metadata services are"
	case a.IsLinkLocalUnicast():
		return "a link-local address"
	case a.IsMulticast():
		return "a multicast address"
	case a.IsUnspecified():
		return "the unspecified address"
	case a == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
		return "the broadcast address"
	}
	return ""
}

// notPublic says why an allowed name must not lead to an address, or returns "".
func notPublic(a netip.Addr) string {
	if a.Zone() != "" {
		return "an address of one link"
	}
	if why := neverAllowed(a); why != "" {
		return why
	}
	a = embedded(a)
	switch {
	case a.IsLoopback():
		return "a loopback address"
	case a.IsPrivate():
		return "a private address"
	}
	for _, s := range special {
		if s.prefix.Contains(a) {
			return s.what
		}
	}
	if a.Is6() && !global6.Contains(a) {
		return "not a public address"
	}
	return ""
}
