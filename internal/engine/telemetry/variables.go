package telemetry

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
)

// checkVariables names each variable of the OTLP exporters that they cannot use, with the remedy. They do without it and go on. No error
// repeats what is in a header or what a URL has before an "@": both may be secrets.
func checkVariables(getenv func(string) string, s Settings) []error {
	var faults []error
	seen := map[string]bool{}
	for _, signal := range []struct{ name, to string }{{"TRACES", s.Traces}, {"METRICS", s.Metrics}, {"LOGS", s.Logs}} {
		if signal.to != OTLP {
			continue
		}
		for _, prefix := range []string{"OTEL_EXPORTER_OTLP_" + signal.name + "_", "OTEL_EXPORTER_OTLP_"} {
			if seen[prefix] {
				continue
			}
			seen[prefix] = true
			faults = append(faults, checkSet(getenv, prefix)...)
		}
	}
	if s.Metrics == OTLP {
		const prefix = "OTEL_EXPORTER_OTLP_METRICS_"
		faults = append(faults,
			oneOf(getenv, prefix+"TEMPORALITY_PREFERENCE", "cumulative", "delta", "lowmemory"),
			oneOf(getenv, prefix+"DEFAULT_HISTOGRAM_AGGREGATION", "explicit_bucket_histogram", "base2_exponential_bucket_histogram"))
	}
	return compact(faults)
}

// checkSet checks the variables with a prefix: those of one signal, or those for all.
func checkSet(getenv func(string) string, prefix string) []error {
	faults := []error{
		oneOf(getenv, prefix+"COMPRESSION", "gzip", "none"),
		oneOf(getenv, prefix+"INSECURE", "true", "false"),
		checkEndpoint(prefix+"ENDPOINT", getenv(prefix+"ENDPOINT")),
		checkCertificates(getenv, prefix),
	}
	if value := strings.TrimSpace(getenv(prefix + "TIMEOUT")); value != "" {
		if _, err := strconv.Atoi(value); err != nil {
			faults = append(faults, fmt.Errorf("%sTIMEOUT=%s: want a number of milliseconds", prefix, value))
		}
	}
	for pair := range strings.SplitSeq(getenv(prefix+"HEADERS"), ",") {
		if pair == "" {
			continue
		}
		name, value, found := strings.Cut(pair, "=")
		if _, err := url.PathUnescape(value); !found {
			faults = append(faults, fmt.Errorf("%sHEADERS: a header without \"=\" (want name=value,name=value)", prefix))
		} else if err != nil {
			faults = append(faults, fmt.Errorf("%sHEADERS: the value of %q is not percent-encoded (write %%25 for %%)", prefix, strings.TrimSpace(name)))
		}
	}
	return faults
}

func compact(faults []error) (out []error) {
	for _, err := range faults {
		if err != nil {
			out = append(out, err)
		}
	}
	return out
}

func oneOf(getenv func(string) string, name string, words ...string) error {
	value := strings.TrimSpace(getenv(name))
	if value == "" {
		return nil
	}
	for _, w := range words {
		if strings.EqualFold(value, w) {
			return nil
		}
	}
	return fmt.Errorf("%s=%s: want %s", name, value, strings.Join(words, " or "))
}

func checkEndpoint(name, value string) error {
	if value = strings.TrimSpace(value); value == "" {
		return nil
	}
	shown := value[strings.LastIndexByte(value, '@')+1:]
	u, err := url.Parse(value)
	if err == nil && u.Host != "" {
		return nil
	}
	var at *url.Error
	if errors.As(err, &at) {
		err = at.Err // without the URL
	} else if err == nil {
		err = errors.New("it names no host")
	}
	return fmt.Errorf("%s=%s: not a URL such as http://127.0.0.1:4318: %w", name, shown, err)
}

func checkCertificates(getenv func(string) string, prefix string) error {
	if file := strings.TrimSpace(getenv(prefix + "CERTIFICATE")); file != "" {
		text, err := os.ReadFile(file)
		if err == nil && !x509.NewCertPool().AppendCertsFromPEM(text) {
			err = errors.New("holds no certificate (want PEM)")
		}
		if err != nil {
			return fmt.Errorf("%sCERTIFICATE=%s: %w", prefix, file, err)
		}
	}
	cert, key := strings.TrimSpace(getenv(prefix+"CLIENT_CERTIFICATE")), strings.TrimSpace(getenv(prefix+"CLIENT_KEY"))
	if cert == "" || key == "" {
		return nil
	}
	if _, err := tls.LoadX509KeyPair(cert, key); err != nil {
		return fmt.Errorf("%sCLIENT_CERTIFICATE=%s, %sCLIENT_KEY=%s: %w", prefix, cert, prefix, key, err)
	}
	return nil
}
