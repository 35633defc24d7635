package otlp

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"strconv"
	"strings"
	"time"
	"unicode"

	"go.opentelemetry.io/otel"
)

// A signal is one of the three kinds of telemetry.
type signal struct {
	name string // as errors and paths have it
	unit string // what a collector rejects some of

	// The published exporters do not read their variables alike. That of logs, written last, refuses a list of headers or a
	// set of certificates of which a part is wrong, falls back to the general variable for a compression that it does not
	// know, and lets the scheme of the endpoint win over INSECURE. The others take what they can and let INSECURE win.
	strict bool

	json bool // reads what was rejected from JSON as well, as the published exporter of traces does
}

var (
	traces  = signal{name: "traces", unit: "spans", json: true}
	metrics = signal{name: "metrics", unit: "metric data points"}
	logs    = signal{name: "logs", unit: "logs", strict: true}
)

// A target is where a signal goes, and how.
type target struct {
	url     string
	host    string
	headers map[string]string
	gzip    bool
	timeout time.Duration // of one request; not above zero: no bound
	tls     *tls.Config   // nil: the machine's certificates
}

// variables reads the environment variables of one signal. A value that cannot be used is told to OpenTelemetry's handler of
// faults, and what holds without it is used, as the published exporters do.
type variables struct {
	signal signal
	getenv func(string) string
	fault  func(error)
}

func environment(s signal) variables {
	return variables{signal: s, getenv: os.Getenv, fault: otel.Handle}
}

// names are those of a variable, the one that holds for all signals last.
func (v variables) names(name string) [2]string {
	const prefix = "OTEL_EXPORTER_OTLP_"
	return [2]string{prefix + strings.ToUpper(v.signal.name) + "_" + name, prefix + name}
}

// first hands the values of a variable to use, that of the signal first, until one can be used. show says that the
// value may be in an error.
func (v variables) first(name string, show bool, use func(name, value string) error) {
	for _, name := range v.names(name) {
		value := strings.TrimSpace(v.getenv(name))
		if value == "" {
			continue
		}
		err := use(name, value)
		if err == nil {
			return
		}
		if show {
			name += "=" + withoutUser(value)
		}
		v.fault(fmt.Errorf("%s: %w", name, err))
	}
}

// withoutUser leaves out what a URL has before an "@": it may be a password.
func withoutUser(value string) string { return value[strings.LastIndexByte(value, '@')+1:] }

// target reads all of them. An error means that they contradict each other.
func (v variables) target() (target, error) {
	t := target{host: "localhost:4318", timeout: 10 * time.Second}
	at, insecure, decided := "/v1/"+v.signal.name, false, false
	v.first("ENDPOINT", true, func(name, value string) error {
		u, err := url.Parse(value)
		if err != nil {
			var at *url.Error
			if errors.As(err, &at) {
				err = at.Err // without the URL
			}
			return fmt.Errorf("not a URL (want one such as http://127.0.0.1:4318): %w", err)
		}
		if u.Host == "" {
			v.fault(fmt.Errorf("%s=%s: names no host: write a URL such as http://127.0.0.1:4318", name, withoutUser(value)))
		}
		t.host = u.Host
		if name == v.names("ENDPOINT")[1] {
			at = path.Join(u.Path, at)
		} else if at = u.Path; at == "" {
			at = "/"
		}
		insecure, decided = v.plain(u.Scheme)
		return nil
	})
	if !decided || !v.signal.strict {
		v.first("INSECURE", true, func(_, value string) error {
			if v.signal.strict && !strings.EqualFold(value, "true") && !strings.EqualFold(value, "false") {
				return errors.New("want true or false")
			}
			insecure = strings.EqualFold(value, "true")
			return nil
		})
	}
	v.first("HEADERS", false, func(name, value string) error {
		headers, err := parseHeaders(value)
		if err != nil && v.signal.strict {
			return err
		} else if err != nil {
			v.fault(fmt.Errorf("%s: %w", name, err))
		}
		t.headers = headers
		return nil
	})
	v.first("COMPRESSION", true, func(_, value string) error {
		if v.signal.strict && value != "gzip" && value != "none" {
			return errors.New("want gzip or none")
		}
		t.gzip = value == "gzip"
		return nil
	})
	v.first("TIMEOUT", true, func(_, value string) error {
		n, err := strconv.Atoi(value)
		if err != nil {
			return errors.New("want a number of milliseconds")
		}
		t.timeout = time.Duration(n) * time.Millisecond
		return nil
	})
	t.tls = v.certificates()
	if insecure && t.tls != nil {
		return t, fmt.Errorf("the endpoint of %s is without TLS and has certificates: write an https URL, or unset %s and its like", v.signal.name, v.names("CERTIFICATE")[1])
	}
	u := url.URL{Scheme: "https", Host: t.host, Path: at}
	if insecure {
		u.Scheme = "http"
	}
	t.url = u.String()
	return t, nil
}

// plain reports whether an endpoint of a scheme is spoken to without TLS, and whether its scheme decides that.
func (v variables) plain(scheme string) (insecure, decided bool) {
	if v.signal.strict {
		return scheme != "https" && scheme != "", scheme != ""
	}
	switch scheme {
	case "http", "unix":
		return true, true
	case "unix-abstract":
		return v.signal == metrics, true
	}
	return false, true
}

// parseHeaders reads name=value pairs with commas between them. Values are percent-encoded. The error names the pairs that
// are left out, without their values, which are often secrets.
func parseHeaders(text string) (map[string]string, error) {
	out := map[string]string{}
	var faults []error
	for pair := range strings.SplitSeq(text, ",") {
		name, value, found := strings.Cut(pair, "=")
		name = strings.TrimSpace(name)
		switch decoded, err := url.PathUnescape(value); {
		case !found:
			faults = append(faults, errors.New("a header without \"=\" (want name=value,name=value)"))
		case !isToken(name):
			faults = append(faults, fmt.Errorf("%q is no name of a header", name))
		case err != nil:
			faults = append(faults, fmt.Errorf("the value of %q is not percent-encoded (write %%25 for %%)", name))
		default:
			out[name] = strings.TrimSpace(decoded)
		}
	}
	return out, errors.Join(faults...)
}

// isToken reports whether HTTP takes a name for a header.
func isToken(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(c rune) bool {
		return c > unicode.MaxASCII || !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune("!#$%&'*+-.^_`|~", c)
	})
}

// certificates are those of the collector and of this process; nil: none are named.
func (v variables) certificates() *tls.Config {
	var out tls.Config
	failed := false
	fault := func(err error) {
		failed = true
		v.fault(err)
	}
	for _, name := range v.names("CERTIFICATE") {
		file := strings.TrimSpace(v.getenv(name))
		if file == "" {
			continue
		}
		pool, err := readPool(file)
		if err == nil {
			out.RootCAs = pool
			break
		}
		fault(fmt.Errorf("%s=%s: %w", name, file, err))
		if v.signal.strict {
			break
		}
	}
	certs, keys := v.names("CLIENT_CERTIFICATE"), v.names("CLIENT_KEY")
	for i, name := range certs {
		cert, key := strings.TrimSpace(v.getenv(name)), strings.TrimSpace(v.getenv(keys[i]))
		if cert == "" || key == "" {
			continue
		}
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err == nil {
			out.Certificates = []tls.Certificate{pair}
			break
		}
		fault(fmt.Errorf("%s=%s, %s=%s: %w", name, cert, keys[i], key, err))
		if v.signal.strict {
			break
		}
	}
	if out.RootCAs == nil && out.Certificates == nil || failed && v.signal.strict {
		return nil
	}
	return &out
}

func readPool(file string) (*x509.CertPool, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, errors.New("holds no certificate (want PEM)")
	}
	return pool, nil
}
