package server

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/deedrun/deed/internal/web/httperror"
)

// localNames always mean this machine to a browser, whatever a name server says. The name below localhost keeps deed's cookie away
// from other programs on other ports of this machine, which share the cookies of 127.0.0.1.
var localNames = map[string]bool{"localhost": true, "deed.localhost": true}

// misdirected refuses a request whose Host is not this server's. A page of another site that has its own name resolve to this
// machine (DNS rebinding) sends that name. An address is no name that somebody could have resolved, but it must be the one that
// the connection came to.
func (s *Server) misdirected(r *http.Request) *httperror.Problem {
	host := strings.ToLower(strings.TrimSuffix(hostOnly(r.Host), "."))
	if localNames[host] || s.hosts[host] {
		return nil
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		ip = ip.Unmap()
		if ip.IsLoopback() {
			return nil
		}
		if local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr); ok && local.AddrPort().Addr().Unmap().WithZone("") == ip {
			return nil
		}
	}
	return httperror.New(http.StatusMisdirectedRequest, "host", "this server is not called by that name in the Host header (start `deed serve` with --host NAME to allow a name)")
}

// crossSite refuses what another site's page makes a browser send. Browsers mark such requests themselves, and no page can
// change the mark. A person who follows a link to a page of deed is let in: that only reads, and only the person sees it.
func (s *Server) crossSite(r *http.Request) *httperror.Problem {
	refused := httperror.New(http.StatusForbidden, "origin", "the request comes from a page of another origin")
	for _, origin := range r.Header.Values("Origin") {
		if !sameOrigin(origin, r) {
			return refused
		}
	}
	switch site := r.Header.Get("Sec-Fetch-Site"); site {
	case "", "none", "same-origin":
		return nil
	default: // same-site too: it is any other port of this machine
		if safe(r.Method) && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document" {
			return nil
		}
		return refused
	}
}

// sameOrigin compares an Origin with the Host that was checked before. Where deed itself does TLS the scheme must be its own.
func sameOrigin(origin string, r *http.Request) bool {
	u, err := url.Parse(origin)
	if err != nil || u.User != nil || u.Path != "" || u.RawQuery != "" || u.Fragment != "" {
		return false
	}
	if u.Scheme != "https" && (u.Scheme != "http" || r.TLS != nil) {
		return false
	}
	return u.Host != "" && strings.EqualFold(withPort(u.Host, u.Scheme), withPort(r.Host, u.Scheme))
}

func withPort(host, scheme string) string {
	if _, _, err := net.SplitHostPort(host); err == nil {
		return host
	}
	port := "80"
	if scheme == "https" {
		port = "443"
	}
	return net.JoinHostPort(strings.Trim(host, "[]"), port)
}

func hostOnly(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		return h
	}
	return strings.Trim(host, "[]")
}

// hostName checks a name that the operator allows.
func hostName(name string) (string, error) {
	n := strings.ToLower(strings.TrimSuffix(name, "."))
	if n == "" || strings.ContainsAny(n, "/:*@ \t\r\n") {
		return "", fmt.Errorf("--host %q is not a plain host name: no scheme, no port, no wildcard", name)
	}
	return n, nil
}

// onlyLoopback reports whether no other machine reaches a listen address. A name is not resolved: what it means may change.
func onlyLoopback(address string) (bool, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil || port == "" {
		return false, errors.Join(fmt.Errorf("address %q is not HOST:PORT (127.0.0.1:7433, or off for none)", address), err)
	}
	if localNames[strings.ToLower(host)] {
		return true, nil
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback(), nil
}
