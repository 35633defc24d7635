package attempt

import (
	"cmp"
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"

	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/isolate/egress"
	"github.com/deedrun/deed/internal/isolate/sandbox"
)

const egressSocket = "egress.sock"

// Bounds on what one attempt's connections leave in its evidence: the agent decides how many there are.
const (
	maxEgressNotes       = 300 // connections that are recorded one by one
	maxEgressHosts       = 200 // hosts that the summary of the others counts separately
	maxDenialDiagnostics = 20  // refusals that the diagnostics repeat
)

// An egressLog is the agent's way out and the record of what went through it.
type egressLog struct {
	rules  []egress.Rule
	proxy  *egress.Proxy // nil: there is no way out, or it is closed
	served chan error    // receives the end of the proxy

	mu      sync.Mutex // guards the fields below
	noted   int
	others  map[egressKey]int64 // counts connections that were not noted one by one
	denials []egress.Connection // the first refusal of each host by each rule
}

// An egressKey is the key by which the summary counts connections.
type egressKey struct {
	Host    string `json:"host"`
	Port    int    `json:"port"`
	Rule    string `json:"rule"`
	Allowed bool   `json:"allowed"`
}

// otherHosts stands for all hosts beyond maxEgressHosts.
const otherHosts = "(others)"

// openEgress starts the proxy of this attempt: to the hosts that the task allows, and to those of the agent's model.
// Every connection that it accepts or refuses is evidence.
func (a *run) openEgress(ctx context.Context) error {
	var allow []string
	if s := a.plan.spec.Sandbox; s != nil {
		allow = s.Network
	}
	rules, err := egress.ParseRules(allow)
	if err != nil {
		return failure.New(failure.Config, "read deed.sandbox.network", err, "")
	}
	if rules, err = egress.AddRules(rules, egress.OriginModel, a.plan.hosts); err != nil {
		return failure.New(failure.Config, "read the hosts of the model", err, "")
	}
	proxy, err := egress.Listen(a.path(egressSocket), egress.Options{Rules: rules, Clock: a.Clock, Resolver: a.resolver, Log: a.connection})
	if err != nil {
		return failure.New(failure.Infra, "start the egress proxy", err, "")
	}
	serve := context.WithoutCancel(ctx)
	a.egress.rules, a.egress.proxy, a.egress.served = rules, proxy, make(chan error, 1)
	go func() { a.egress.served <- proxy.Serve(serve) }()
	return nil
}

// connection records one connection, or only counts it when there have been many.
func (a *run) connection(c egress.Connection) {
	if a.egress.add(c) {
		a.note("egress", c)
	}
}

// add reports whether a connection is to be recorded on its own.
func (l *egressLog) add(c egress.Connection) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !c.Allowed && len(l.denials) < maxDenialDiagnostics && !slices.ContainsFunc(l.denials, func(d egress.Connection) bool {
		return d.Host == c.Host && d.Port == c.Port && d.Rule == c.Rule
	}) {
		l.denials = append(l.denials, c)
	}
	if l.noted < maxEgressNotes {
		l.noted++
		return true
	}
	if l.others == nil {
		l.others = map[egressKey]int64{}
	}
	key := egressKey{c.Host, c.Port, c.Rule, c.Allowed}
	if _, known := l.others[key]; !known && len(l.others) >= maxEgressHosts {
		key.Host, key.Port = otherHosts, 0 // one for each rule, and rules are few
	}
	l.others[key]++
	return false
}

// An egressCount is a line of the summary.
type egressCount struct {
	egressKey
	Count int64 `json:"count"`
}

// summary lists the connections that were only counted, the most frequent first.
func (l *egressLog) summary() []egressCount {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []egressCount
	for key, n := range l.others {
		out = append(out, egressCount{key, n})
	}
	slices.SortFunc(out, func(x, y egressCount) int {
		return cmp.Or(cmp.Compare(y.Count, x.Count), cmp.Compare(x.Host, y.Host), cmp.Compare(x.Port, y.Port), cmp.Compare(x.Rule, y.Rule))
	})
	return out
}

// closeEgress ends the proxy; its log is complete when it returns.
func (a *run) closeEgress() error {
	l := &a.egress
	if l.proxy == nil {
		return nil
	}
	err := errors.Join(l.proxy.Close(), <-l.served)
	l.proxy = nil
	if rest := l.summary(); len(rest) > 0 {
		a.note("egress_summary", map[string]any{"noted": maxEgressNotes, "others": rest})
	}
	return err
}

// diagnostics lists what the agent was refused.
func (l *egressLog) diagnostics() []evidence.Diagnostic {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []evidence.Diagnostic
	for _, d := range l.denials {
		out = append(out, evidence.Diagnostic{
			Class: evidence.ClassEgress + "." + d.Rule, Message: d.Reason, Remedy: d.Remedy,
			Data: mustJSON(map[string]any{"host": d.Host, "port": d.Port, "method": d.Method, "address": d.Address}),
		})
	}
	return out
}

// loopback lists the addresses of this machine's loopback interface that the agent reaches at the same address
// inside.
func (l *egressLog) loopback() []string {
	return slices.DeleteFunc(egress.Loopback(l.rules), func(target string) bool { return !sandbox.Openable(target) })
}

// proxied routes programs through the proxy for an allowed address that is not forwarded inside and that the sandbox
// itself has as well: the operator means the machine's. All others are reached directly, and so is what listens
// inside.
func proxied(env map[string]string, rules []egress.Rule) {
	for _, name := range []string{"NO_PROXY", "no_proxy"} {
		hosts := slices.DeleteFunc(strings.Split(env[name], ","), func(host string) bool {
			return slices.ContainsFunc(egress.Loopback(rules), func(target string) bool {
				at, _, _ := net.SplitHostPort(target)
				return at == host && !sandbox.Openable(target)
			})
		})
		env[name] = strings.Join(hosts, ",")
	}
}
