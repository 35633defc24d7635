package access

import (
	"net"
	"net/http"
	"strings"
)

// Remote is where a request comes from: an address without its port, or "socket". No header is believed about it.
func Remote(r *http.Request) string {
	if host, _, err := net.SplitHostPort(r.RemoteAddr); err == nil {
		return host
	}
	if strings.HasPrefix(r.RemoteAddr, "@") || r.RemoteAddr == "" || strings.HasPrefix(r.RemoteAddr, "/") {
		return "socket"
	}
	return r.RemoteAddr
}
