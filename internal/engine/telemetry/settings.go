package telemetry

import (
	"errors"
	"fmt"
	"strings"
)

// OTLP is the one exporter that deed has for what leaves the process by itself, over HTTP with protobuf.
const OTLP = "otlp"

// Settings say what is exported. The zero value exports nothing.
type Settings struct {
	Traces, Metrics, Logs string // OTLP, or empty: not exported
	Scraped               bool   // metrics are kept for a scraper
	Off                   bool   // OTEL_SDK_DISABLED
}

// On reports whether anything is exported.
func (s Settings) On() bool { return s.Traces != "" || s.Metrics != "" || s.Logs != "" || s.Scraped }

// Read reads the standard variables of OpenTelemetry. Nothing is exported until an endpoint or an exporter is named.
// A setting that deed cannot honour is an error: an operator who set up telemetry must not find out that it is
// missing when it is needed. The exporters themselves read the endpoint's address, headers, timeouts and
// certificates.
func Read(getenv func(string) string) (Settings, error) {
	var s Settings
	if strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") {
		return Settings{Off: true}, nil
	}
	var faults []error
	for _, one := range []struct {
		signal string
		to     *string
	}{{"TRACES", &s.Traces}, {"METRICS", &s.Metrics}, {"LOGS", &s.Logs}} {
		name := "OTEL_" + one.signal + "_EXPORTER"
		endpoint := getenv("OTEL_EXPORTER_OTLP_"+one.signal+"_ENDPOINT") != "" || getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != ""
		for word := range strings.SplitSeq(getenv(name), ",") {
			switch word = strings.TrimSpace(word); {
			case word == "" && endpoint, word == OTLP:
				*one.to = OTLP
			case word == "", word == "none":
			case word == "prometheus" && one.signal == "METRICS": // that is /metrics of deed serve
			default:
				faults = append(faults, fmt.Errorf("%s=%s: deed knows otlp and none, and prometheus for metrics (/metrics of deed serve)", name, word))
			}
		}
		if *one.to == "" {
			continue
		}
		for _, name := range []string{"OTEL_EXPORTER_OTLP_" + one.signal + "_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"} {
			if p := getenv(name); p != "" {
				if p != "http/protobuf" {
					faults = append(faults, fmt.Errorf("%s=%s: deed speaks http/protobuf alone (port 4318 of a collector)", name, p))
				}
				break
			}
		}
	}
	if len(faults) > 0 {
		return Settings{}, errors.Join(faults...)
	}
	return s, nil
}
