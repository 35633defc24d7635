package egress

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// maxHead is how many bytes the head of a request or of a response may have.
const maxHead = 64 << 10

// maxMethod is how long the name of a method may be.
const maxMethod = 32

// A refusal is why a request is refused: what the client gets, and what the log says.
type refusal struct {
	status int
	rule   string // the rule of this package that refuses
	reason string
	remedy string
}

func (r *refusal) Error() string { return r.reason }

// Rules of the proxy's own that refuse a request; a Connection names them in Rule.
const (
	ruleNotAllowed = "not-allowed"        // no rule of the task names the host and port
	ruleAddress    = "address"            // an allowed name leads to an address that is not public
	ruleMetadata   = "never-allowed"      // the address can be allowed by no rule
	ruleTarget     = "target"             // the target is not spelt as a host and a port
	ruleForm       = "proxy-form"         // not a request to a proxy
	ruleHost       = "host-agrees"        // Host and target differ
	ruleSyntax     = "syntax"             // not HTTP/1.0 or HTTP/1.1 by the letter
	ruleFraming    = "framing"            // where the body ends can be read in two ways
	ruleLimits     = "limits"             // too large, too slow, too many
	ruleUnreached  = "host-not-reachable" // allowed, but it does not answer
)

func malformed(rule, format string, args ...any) *refusal {
	return &refusal{status: http.StatusBadRequest, rule: rule, reason: fmt.Sprintf(format, args...), remedy: "send plain HTTP/1.1 as RFC 9112 has it"}
}

// A field is one header field as it was sent.
type field struct{ name, value string }

// A request is the head of a request to a proxy, checked.
type request struct {
	method string
	target target
	path   string // the origin form; empty for CONNECT
	minor  int    // of the HTTP version
	fields []field
	length int64 // of the body; -1 when it is chunked
	expect bool  // the client waits for 100 Continue
	close  bool  // the client ends the connection after this request
}

func (r *request) connect() bool { return r.method == http.MethodConnect }

// readHead reads the bytes of a head with its empty line. At the end of the input before the first byte it returns io.EOF.
func readHead(br *bufio.Reader) ([]byte, error) {
	var head []byte
	for {
		line, err := br.ReadSlice('\n')
		if len(head)+len(line) > maxHead {
			return nil, &refusal{http.StatusRequestHeaderFieldsTooLarge, ruleLimits, fmt.Sprintf("the head of the request has more than %d bytes", maxHead), "send fewer or shorter header fields"}
		}
		head = append(head, line...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(head) > 0:
			return nil, malformed(ruleSyntax, "the connection ended within the head of a request")
		case err != nil:
			return nil, err
		}
		if bytes.HasSuffix(head, []byte("\r\n\r\n")) {
			return head, nil
		}
		if !bytes.HasSuffix(head, []byte("\r\n")) {
			return nil, malformed(ruleSyntax, "a line of the head does not end with CR LF")
		}
		if len(head) == len("\r\n") {
			return nil, malformed(ruleSyntax, "the request begins with an empty line")
		}
	}
}

// parseRequest checks a head by the letter. Its errors go into the log and so quote nothing of the head but hosts. Whatever two readers could understand differently is refused, because the next
// reader is a server that this proxy does not know.
func parseRequest(head []byte) (*request, error) {
	lines := strings.Split(strings.TrimSuffix(string(head), "\r\n\r\n"), "\r\n")
	r := &request{}
	parts := strings.Split(lines[0], " ")
	if len(parts) != 3 || !isToken(parts[0]) || len(parts[0]) > maxMethod || !isVisible(parts[1]) {
		return nil, malformed(ruleSyntax, "the first line is not a method, a target and a version")
	}
	switch parts[2] {
	case "HTTP/1.1":
		r.minor = 1
	case "HTTP/1.0":
	default:
		return nil, &refusal{http.StatusHTTPVersionNotSupported, ruleSyntax, "the version is neither HTTP/1.1 nor HTTP/1.0", "use HTTP/1.1"}
	}
	r.method = parts[0]
	for _, line := range lines[1:] {
		f, err := parseField(line)
		if err != nil {
			return nil, err
		}
		r.fields = append(r.fields, f)
	}
	if err := r.parseTarget(parts[1]); err != nil {
		return nil, err
	}
	if err := r.checkHost(); err != nil {
		return r, err
	}
	if err := r.parseFraming(); err != nil {
		return r, err
	}
	return r, r.parseConnection()
}

func parseField(line string) (field, error) {
	if strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t") {
		return field{}, malformed(ruleSyntax, "a header field is folded over two lines")
	}
	name, value, ok := strings.Cut(line, ":")
	if !ok || !isToken(name) {
		return field{}, malformed(ruleSyntax, "a line of the head is not a header field")
	}
	value = strings.Trim(value, " \t")
	for i := range len(value) {
		if c := value[i]; c < ' ' && c != '\t' || c == 0x7f {
			return field{}, malformed(ruleSyntax, "a header field holds a control character")
		}
	}
	return field{name, value}, nil
}

// parseTarget reads the authority form for CONNECT and the absolute form for everything else.
func (r *request) parseTarget(text string) error {
	const user = "send credentials in an Authorization header"
	if r.connect() {
		if strings.Contains(text, "@") {
			return &refusal{http.StatusBadRequest, ruleTarget, "the target holds a user", user}
		}
		var bad *spelling
		if r.target, bad = parseTarget(text, 0); bad != nil {
			return badTarget(bad)
		}
		return nil
	}
	if scheme, _, ok := strings.Cut(text, "://"); ok && strings.EqualFold(scheme, "https") {
		return &refusal{http.StatusBadRequest, ruleForm, "an https URL was asked for in plain", "open a tunnel with CONNECT host:443 instead"}
	}
	const start = "http://"
	if len(text) < len(start) || !strings.EqualFold(text[:len(start)], start) {
		return &refusal{
			http.StatusBadRequest, ruleForm, "this is a proxy, and the request is not one for a proxy",
			"set HTTP_PROXY and HTTPS_PROXY to this address, and ask for http://host/path or CONNECT host:port",
		}
	}
	rest := text[len(start):]
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	authority, path := rest[:end], rest[end:]
	if strings.Contains(authority, "@") {
		return &refusal{http.StatusBadRequest, ruleTarget, "the URL holds a user", user}
	}
	if strings.Contains(path, "#") {
		return &refusal{http.StatusBadRequest, ruleTarget, "the URL holds a fragment", "leave it out"}
	}
	var bad *spelling
	if r.target, bad = parseTarget(authority, 80); bad != nil {
		return badTarget(bad)
	}
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	r.path = path
	return nil
}

func badTarget(bad *spelling) error {
	return &refusal{http.StatusBadRequest, ruleTarget, bad.message, bad.remedy}
}

// checkHost demands that Host, by which a server chooses the site, says what the rules were asked about.
func (r *request) checkHost() error {
	hosts := r.values("Host")
	switch {
	case len(hosts) > 1:
		return malformed(ruleHost, "there are %d Host fields", len(hosts))
	case len(hosts) == 0 && (r.minor == 0 || r.connect()):
		return nil
	case len(hosts) == 0:
		return malformed(ruleHost, "there is no Host field")
	}
	otherwise := uint16(80)
	if r.connect() {
		otherwise = r.target.port // several clients leave it out there
	}
	if t, bad := parseTarget(hosts[0], otherwise); bad != nil || t != r.target {
		return &refusal{http.StatusBadRequest, ruleHost, fmt.Sprintf("Host is %s and the target is %s", quoteShort(hosts[0]), r.target), "let both name the same host and port"}
	}
	return nil
}

// parseFraming decides where the body ends, and refuses every head in which that can be read in two ways.
func (r *request) parseFraming() error {
	lengths, codings := r.values("Content-Length"), r.values("Transfer-Encoding")
	switch {
	case len(lengths) > 0 && len(codings) > 0:
		return malformed(ruleFraming, "both Content-Length and Transfer-Encoding are given")
	case r.connect() && len(lengths)+len(codings) > 0:
		return malformed(ruleFraming, "CONNECT has no body")
	case len(lengths) > 1:
		return malformed(ruleFraming, "there are %d Content-Length fields", len(lengths))
	case len(lengths) == 1:
		n, err := strconv.ParseUint(lengths[0], 10, 63)
		if err != nil || strings.Trim(lengths[0], "0123456789") != "" {
			return malformed(ruleFraming, "Content-Length is not a number in plain digits")
		}
		r.length = int64(n)
	case len(codings) > 0:
		if r.minor == 0 {
			return malformed(ruleFraming, "Transfer-Encoding in HTTP/1.0")
		}
		if len(codings) > 1 || !strings.EqualFold(codings[0], "chunked") {
			return &refusal{http.StatusNotImplemented, ruleFraming, "Transfer-Encoding is not chunked alone", "use chunked, once, and nothing else"}
		}
		r.length = -1
	}
	return nil
}

func (r *request) parseConnection() error {
	r.close = r.minor == 0 || slices.Contains(r.options(), "close")
	for _, e := range r.values("Expect") {
		if !strings.EqualFold(e, "100-continue") {
			return &refusal{http.StatusExpectationFailed, ruleSyntax, "Expect is not 100-continue", "leave it out, or use 100-continue"}
		}
		r.expect = r.minor > 0 && r.length != 0
	}
	return nil
}

// values returns the values of a header field, in order.
func (r *request) values(name string) []string {
	var out []string
	for _, f := range r.fields {
		if strings.EqualFold(f.name, name) {
			out = append(out, f.value)
		}
	}
	return out
}

// options returns the words of the Connection fields in lower case.
func (r *request) options() []string {
	var out []string
	for _, v := range append(r.values("Connection"), r.values("Proxy-Connection")...) {
		for word := range strings.SplitSeq(v, ",") {
			out = append(out, strings.ToLower(strings.TrimSpace(word)))
		}
	}
	return out
}

// hopByHop lists, in lower case, what is meant for the next hop only, and what the proxy writes itself.
var hopByHop = []string{
	"connection", "proxy-connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "te", "trailer",
	"transfer-encoding", "upgrade", "expect", "host", "content-length",
}

// origin returns the head as it goes to the server.
func (r *request) origin() []byte {
	host := r.target.host
	if r.target.addr.Is6() {
		host = "[" + host + "]"
	}
	if r.target.port != 80 {
		host = r.target.String()
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\n", r.method, r.path, host)
	drop := append(r.options(), hopByHop...)
	for _, f := range r.fields {
		if !slices.Contains(drop, strings.ToLower(f.name)) {
			fmt.Fprintf(&b, "%s: %s\r\n", f.name, f.value)
		}
	}
	switch {
	case r.length < 0:
		b.WriteString("Transfer-Encoding: chunked\r\n")
	case r.length > 0 || len(r.values("Content-Length")) > 0:
		fmt.Fprintf(&b, "Content-Length: %d\r\n", r.length)
	}
	b.WriteString("Connection: close\r\n\r\n")
	return b.Bytes()
}

// isToken reports whether text is a token of RFC 9110.
func isToken(text string) bool {
	for i := range len(text) {
		c := text[i]
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return false
		}
	}
	return text != ""
}

// isVisible reports whether text is made of visible ASCII characters.
func isVisible(text string) bool {
	for i := range len(text) {
		if text[i] <= ' ' || text[i] >= 0x7f {
			return false
		}
	}
	return text != ""
}
