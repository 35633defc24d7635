package egress

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/fault"
)

// A Rule allows one host, or the names below one, on certain ports. The zero Rule allows nothing.
type Rule struct {
	host   string     // the name, or what follows the *. of a wildcard
	below  bool       // it allows the names below host, and not host itself
	addr   netip.Addr // valid for a literal address
	ports  []uint16
	stated bool   // the port was given
	origin string // who asked for it, where that was not the task
}

// OriginModel is the origin of rules for what an agent's model needs, which no task has to name.
const OriginModel = "model"

// defaultPorts are those of a rule that names none.
var defaultPorts = []uint16{443, 80}

// String returns the rule in its one spelling.
func (r Rule) String() string {
	host := r.host
	if r.below {
		host = "*." + host
	}
	if !r.stated {
		return host
	}
	return joinHostPort(host, r.addr, r.ports[0])
}

// Address returns the literal address that the rule allows; it is not valid for a name.
func (r Rule) Address() netip.Addr { return r.addr }

// Origin is who asked for the rule; empty: the task.
func (r Rule) Origin() string { return r.origin }

// localhost is the one name of this machine that a rule may have. It is never looked up: it stands for two addresses.
const localhost = "localhost"

var localAddrs = []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}

// Loopback returns the targets, as host:port, of those rules that lead to the loopback interface of this machine: an
// address of it, or the name localhost.
func Loopback(rules []Rule) []string {
	var out []string
	for _, r := range rules {
		if r.stated && (r.host == localhost || r.addr.IsLoopback()) {
			out = append(out, r.String())
		}
	}
	return out
}

func (r Rule) allows(t target) bool {
	if !slices.Contains(r.ports, t.port) {
		return false
	}
	if r.host == localhost && slices.Contains(localAddrs, t.addr) {
		return true
	}
	if r.addr.IsValid() || t.addr.IsValid() {
		return r.addr.IsValid() && r.addr == t.addr
	}
	if r.below {
		return strings.HasSuffix(t.host, "."+r.host)
	}
	return t.host == r.host
}

// ParseRules reads the hosts that a task may reach: a name (api.example.com, on the ports 443 and 80), a name with a port
// (api.example.com:8443), all names below one (*.example.com, with or without a port; example.com itself is another rule),
// a literal address with its port (127.0.0.1:8080, [::1]:9000), or localhost with its port, which stands for 127.0.0.1
// and ::1. Upper case and a final dot are normalised. Everything else is a fault at its place, $[i].
func ParseRules(allow []string) ([]Rule, error) { return AddRules(nil, "", allow) }

// AddRules returns rules with those added that allow asks for and that are not among them yet. They have the origin.
func AddRules(rules []Rule, origin string, allow []string) ([]Rule, error) {
	var faults fault.List
	rules = slices.Clone(rules)
	for i, text := range allow {
		r, bad := parseRule(text)
		switch {
		case bad != nil:
			faults.Add(fault.Index(fault.Root, i), fault.BadFormat, bad.message, bad.remedy)
		case !slices.ContainsFunc(rules, func(o Rule) bool { return o.String() == r.String() }):
			r.origin = origin
			rules = append(rules, r)
		}
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	return rules, nil
}

func parseRule(text string) (Rule, *spelling) {
	const form = "write a host name or an address, with a port if need be, as in api.example.com:443"
	switch {
	case strings.TrimSpace(text) == "":
		return Rule{}, misspelt(form, "is blank")
	case strings.Contains(text, "://"):
		return Rule{}, misspelt("leave the scheme out: "+form, "%s is a URL", quoteShort(text))
	case strings.ContainsAny(text, "/?#"):
		return Rule{}, misspelt("leave the path out: a rule is about hosts", "%s has a path", quoteShort(text))
	case strings.Contains(text, "@"):
		return Rule{}, misspelt("leave the user out", "%s has a user", quoteShort(text))
	case strings.ContainsAny(text, " \t\r\n"):
		return Rule{}, misspelt("write one host in each rule, without spaces", "%s has a space", quoteShort(text))
	}
	var r Rule
	host, port, bad := splitPort(text)
	if bad != nil {
		return Rule{}, bad
	}
	host, r.below = strings.CutPrefix(host, "*.")
	if strings.Contains(host, "*") {
		return Rule{}, misspelt("use * only as the whole first part, as in *.example.com", "%s has a * elsewhere", quoteShort(text))
	}
	if r.host, r.addr, bad = parseHost(host); bad != nil {
		return Rule{}, bad
	}
	r.ports, r.stated = defaultPorts, port != 0
	if r.stated {
		r.ports = []uint16{port}
	}
	return r, r.fault(text)
}

// fault refuses what is well spelt and can never be meant, or could never be used.
func (r Rule) fault(text string) *spelling {
	switch {
	case r.addr.IsValid() && r.below:
		return misspelt("name the address itself", "%s has a wildcard before an address", quoteShort(text))
	case r.addr.IsValid() && !r.stated:
		return misspelt("add the port, as in "+joinHostPort(r.host, r.addr, 8080), "%s is an address without a port", quoteShort(text))
	case r.addr.IsValid():
		if why := neverAllowed(r.addr); why != "" {
			return misspelt("remove it: no rule can allow it", "%s is %s", quoteShort(text), why)
		}
	case r.below && !strings.Contains(r.host, "."):
		return misspelt("name a domain, as in *.example.com", "%s allows a whole top-level domain", quoteShort(text))
	case r.host == localhost && !r.below && r.stated:
		return nil
	case r.host == localhost && !r.below:
		return misspelt("add the port, as in localhost:8080", "%s names this machine without a port", quoteShort(text))
	case r.host == localhost || strings.HasSuffix(r.host, "."+localhost):
		return misspelt("allow the address itself, as in 127.0.0.1:8080", "%s is a name of this machine, and names that lead to private addresses are refused", quoteShort(text))
	}
	return nil
}
