package otlp

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
)

// told is what a collector sees of an export that the variables may have changed.
type told struct {
	Method, Path, Encoding string
	Header                 http.Header
}

// try makes an exporter in the present environment and lets it send once.
func try(t *testing.T, c *collector, fresh func(*testing.T) (sender, error)) (made, sent bool, out []told) {
	t.Helper()
	s, err := fresh(t)
	if err != nil {
		return false, false, nil
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	err = s.send(ctx)
	_ = s.shutdown(ctx)
	for _, r := range c.taken() {
		for _, name := range []string{"Content-Length", "Accept-Encoding"} {
			r.Header.Del(name)
		}
		if strings.HasPrefix(r.Header.Get("User-Agent"), "OTel ") || r.Header.Get("User-Agent") == agent {
			r.Header.Del("User-Agent") // the name of the program, unless the variables give another
		}
		out = append(out, told{r.Method, r.Path, r.Encoding, r.Header})
	}
	return true, err == nil, out
}

// Both implementations do the same with the same variables: {url} is the collector, {host} its address, SIGNAL the signal.
func TestVariablesAreReadAlike(t *testing.T) {
	c := newCollector(t, nil)
	const general, special = "OTEL_EXPORTER_OTLP_ENDPOINT={url}", "OTEL_EXPORTER_OTLP_SIGNAL_ENDPOINT={url}"
	for _, env := range []string{
		general, general + "/", general + "/base", general + "/base/", general + "/a//b/../c", general + "/sp%20ace?query=1#part", general + "/base\n" + special + "/own",
		special, special + "/", special + "/own/", special + "/a//b", special + "/own?query=1", special + "/v1%2Fx",
		special + "\nOTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1",
		general + "\nOTEL_EXPORTER_OTLP_SIGNAL_ENDPOINT=:bad", "OTEL_EXPORTER_OTLP_ENDPOINT={host}", "OTEL_EXPORTER_OTLP_ENDPOINT=//{host}",
		"OTEL_EXPORTER_OTLP_ENDPOINT=//{host}\nOTEL_EXPORTER_OTLP_INSECURE=true", "OTEL_EXPORTER_OTLP_ENDPOINT=HTTP://{host}",
		"OTEL_EXPORTER_OTLP_ENDPOINT=unix://{host}", "OTEL_EXPORTER_OTLP_ENDPOINT=unix-abstract://{host}", "OTEL_EXPORTER_OTLP_ENDPOINT=other://{host}", "OTEL_EXPORTER_OTLP_ENDPOINT=https://{host}",
		"OTEL_EXPORTER_OTLP_ENDPOINT=https://{host}\nOTEL_EXPORTER_OTLP_INSECURE=true", "OTEL_EXPORTER_OTLP_ENDPOINT=https://{host}\nOTEL_EXPORTER_OTLP_SIGNAL_INSECURE=TRUE",
		general + "\nOTEL_EXPORTER_OTLP_INSECURE=false", general + "\nOTEL_EXPORTER_OTLP_INSECURE=nonsense", general + "\nOTEL_EXPORTER_OTLP_INSECURE=false\nOTEL_EXPORTER_OTLP_SIGNAL_INSECURE=true",
		"OTEL_EXPORTER_OTLP_ENDPOINT=//{host}\nOTEL_EXPORTER_OTLP_INSECURE=true\nOTEL_EXPORTER_OTLP_SIGNAL_INSECURE=nonsense",
		general + "\nOTEL_EXPORTER_OTLP_HEADERS=api-key=secret", general + "\nOTEL_EXPORTER_OTLP_HEADERS=a=b%20c%2Cd, x =  y ,empty=,a=again,two=x=y",
		general + "\nOTEL_EXPORTER_OTLP_HEADERS=a=1,b=2\nOTEL_EXPORTER_OTLP_SIGNAL_HEADERS=b=3",
		general + "\nOTEL_EXPORTER_OTLP_HEADERS=good=1,bad", general + "\nOTEL_EXPORTER_OTLP_HEADERS=good=1,bad name=2", general + "\nOTEL_EXPORTER_OTLP_HEADERS=good=1,bad=%zz", general + "\nOTEL_EXPORTER_OTLP_HEADERS==1,good=2,é=3",
		general + "\nOTEL_EXPORTER_OTLP_HEADERS=general=1\nOTEL_EXPORTER_OTLP_SIGNAL_HEADERS=bad",
		general + "\nOTEL_EXPORTER_OTLP_HEADERS=content-type=text/plain,user-agent=mine,content-encoding=br",
		general + "\nOTEL_EXPORTER_OTLP_HEADERS=user-agent=mine%0Ainjected",
		general + "\nOTEL_EXPORTER_OTLP_COMPRESSION=gzip", general + "\nOTEL_EXPORTER_OTLP_COMPRESSION=none", general + "\nOTEL_EXPORTER_OTLP_COMPRESSION=GZIP", general + "\nOTEL_EXPORTER_OTLP_COMPRESSION=zstd",
		general + "\nOTEL_EXPORTER_OTLP_SIGNAL_COMPRESSION=gzip\nOTEL_EXPORTER_OTLP_COMPRESSION=none", general + "\nOTEL_EXPORTER_OTLP_SIGNAL_COMPRESSION=nonsense\nOTEL_EXPORTER_OTLP_COMPRESSION=gzip",
		general + "\nOTEL_EXPORTER_OTLP_TIMEOUT=5000", general + "\nOTEL_EXPORTER_OTLP_TIMEOUT=0", general + "\nOTEL_EXPORTER_OTLP_TIMEOUT=-1", general + "\nOTEL_EXPORTER_OTLP_TIMEOUT=10s",
		general + "\nOTEL_EXPORTER_OTLP_CERTIFICATE=/no/such/file", general + "\nOTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE=/no/such/file\nOTEL_EXPORTER_OTLP_CLIENT_KEY=/no/such/file",
	} {
		for name, s := range senders {
			t.Run(name+" "+env, func(t *testing.T) {
				host := strings.TrimPrefix(c.URL, "http://")
				for line := range strings.SplitSeq(strings.NewReplacer("{url}", c.URL, "{host}", host, "SIGNAL", strings.ToUpper(name)).Replace(env), "\n") {
					k, v, _ := strings.Cut(line, "=")
					t.Setenv(k, v)
				}
				ourMade, ourSent, ours := try(t, c, s.ours)
				theirMade, theirSent, theirs := try(t, c, s.theirs)
				if ourMade != theirMade || ourSent != theirSent {
					t.Errorf("ours: made %v, sent %v; theirs: made %v, sent %v", ourMade, ourSent, theirMade, theirSent)
				}
				if d := gocmp.Diff(theirs, ours); d != "" {
					t.Errorf("(-theirs +ours)\n%s", d)
				}
			})
		}
	}
}

func TestTheDefaultEndpoint(t *testing.T) {
	t.Parallel()
	for _, s := range []signal{traces, metrics, logs} {
		v := variables{signal: s, getenv: func(string) string { return "" }, fault: func(err error) { t.Error(err) }}
		got, err := v.target()
		if want := "https://localhost:4318/v1/" + s.name; err != nil || got.url != want || got.timeout != 10*time.Second || got.gzip || got.tls != nil {
			t.Errorf("%+v %v, want %s", got, err, want)
		}
	}
}

// Certificates of the collector and of the process are read, in both the same way.
func TestCertificatesAreReadAlike(t *testing.T) {
	c := &collector{}
	var shown []bool
	c.answer = func(_ http.ResponseWriter, r *http.Request) { shown = append(shown, len(r.TLS.PeerCertificates) > 0) }
	c.Server = httptest.NewUnstartedServer(http.HandlerFunc(c.take))
	c.Server.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	c.StartTLS()
	t.Cleanup(c.Close)
	dir := t.TempDir()
	write := func(name, kind string, der []byte) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	own := c.Server.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(own.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	files := strings.NewReplacer("{cert}", write("cert", "CERTIFICATE", own.Certificate[0]), "{key}", write("key", "PRIVATE KEY", key), "{bad}", write("bad", "NONSENSE", nil), "{url}", c.URL)
	const p = "OTEL_EXPORTER_OTLP_"
	for _, env := range []string{
		"", p + "CERTIFICATE={cert}", p + "CERTIFICATE={bad}", p + "CERTIFICATE={cert} " + p + "SIGNAL_CERTIFICATE={bad}", p + "SIGNAL_CERTIFICATE={cert} " + p + "CERTIFICATE={bad}",
		p + "CERTIFICATE={cert} " + p + "CLIENT_CERTIFICATE={cert} " + p + "CLIENT_KEY={key}", p + "CERTIFICATE={cert} " + p + "CLIENT_CERTIFICATE={cert}",
		p + "CERTIFICATE={cert} " + p + "CLIENT_CERTIFICATE={cert} " + p + "CLIENT_KEY={bad}",
		p + "CERTIFICATE={cert} " + p + "SIGNAL_CLIENT_CERTIFICATE={cert} " + p + "SIGNAL_CLIENT_KEY={key} " + p + "CLIENT_CERTIFICATE={bad} " + p + "CLIENT_KEY={key}",
		p + "CERTIFICATE={cert} " + p + "SIGNAL_CLIENT_CERTIFICATE={bad} " + p + "SIGNAL_CLIENT_KEY={key} " + p + "CLIENT_CERTIFICATE={cert} " + p + "CLIENT_KEY={key}",
		p + "CERTIFICATE={cert} " + p + "INSECURE=true", p + "CERTIFICATE={cert} " + p + "ENDPOINT=http://127.0.0.1:1",
	} {
		for name, s := range senders {
			t.Run(name+" "+env, func(t *testing.T) {
				t.Setenv(p+"ENDPOINT", c.URL)
				for line := range strings.FieldsSeq(files.Replace(strings.ReplaceAll(env, "SIGNAL", strings.ToUpper(name)))) {
					k, v, _ := strings.Cut(line, "=")
					t.Setenv(k, v)
				}
				shown = nil
				ourMade, ourSent, _ := try(t, c, s.ours)
				ours := shown
				shown = nil
				theirMade, theirSent, _ := try(t, c, s.theirs)
				if ourMade != theirMade || ourSent != theirSent || !slices.Equal(ours, shown) {
					t.Errorf("ours: made %v, sent %v, shown %v; theirs: made %v, sent %v, shown %v", ourMade, ourSent, ours, theirMade, theirSent, shown)
				}
			})
		}
	}
}

// A value that is passed over is told, with its variable and the remedy; what is in headers is not repeated.
func TestFaultsOfVariables(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		signal signal
		env    map[string]string
		want   string // empty: none
		bad    bool   // an exporter is not made
	}{
		{traces, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "localhost:4318"}, "OTEL_EXPORTER_OTLP_ENDPOINT=localhost:4318: names no host: write a URL such as http://127.0.0.1:4318", false},
		{traces, map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": ":x"}, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=:x: not a URL", false},
		{traces, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://me:secret@h:port"}, "OTEL_EXPORTER_OTLP_ENDPOINT=h:port: not a URL", false},
		{traces, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "me:secret@"}, "OTEL_EXPORTER_OTLP_ENDPOINT=: names no host", false},
		{metrics, map[string]string{"OTEL_EXPORTER_OTLP_TIMEOUT": "10s"}, "OTEL_EXPORTER_OTLP_TIMEOUT=10s: want a number of milliseconds", false},
		{logs, map[string]string{"OTEL_EXPORTER_OTLP_LOGS_COMPRESSION": "br"}, "OTEL_EXPORTER_OTLP_LOGS_COMPRESSION=br: want gzip or none", false},
		{logs, map[string]string{"OTEL_EXPORTER_OTLP_INSECURE": "1"}, "OTEL_EXPORTER_OTLP_INSECURE=1: want true or false", false},
		{logs, map[string]string{"OTEL_EXPORTER_OTLP_HEADERS": "key=secret%"}, `OTEL_EXPORTER_OTLP_HEADERS: the value of "key" is not percent-encoded`, false},
		{traces, map[string]string{"OTEL_EXPORTER_OTLP_TRACES_HEADERS": "secret"}, "OTEL_EXPORTER_OTLP_TRACES_HEADERS: a header without", false},
		{traces, map[string]string{"OTEL_EXPORTER_OTLP_CERTIFICATE": "/no/such"}, "OTEL_EXPORTER_OTLP_CERTIFICATE=/no/such: ", false},
		{traces, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://h", "OTEL_EXPORTER_OTLP_HEADERS": "a=b"}, "", false},
	} {
		var faults []string
		_, err := variables{signal: c.signal, getenv: func(k string) string { return c.env[k] }, fault: func(err error) { faults = append(faults, err.Error()) }}.target()
		text := fmt.Sprint(slices.Collect(maps.Keys(c.env)), faults)
		if (err != nil) != c.bad || (c.want == "") != (len(faults) == 0) || c.want != "" && !strings.Contains(faults[0], c.want) || strings.Contains(text, "secret") {
			t.Errorf("%v %v, want %q", text, err, c.want)
		}
	}
}
