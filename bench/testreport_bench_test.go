package bench

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/deedrun/deed/internal/checks/testreport"
)

// Reports of 100,000 tests, read within bounds into tests with unique names and counts, against the decoder of the standard
// library that reads the same bytes and does nothing with them.
func TestBenchTestReport(t *testing.T) {
	if os.Getenv("DEED_BENCH") != "1" {
		t.Skip("set DEED_BENCH=1 to measure")
	}
	const tests = 100_000
	var junit, events strings.Builder
	junit.WriteString("<testsuite>")
	for i := range tests {
		fmt.Fprintf(&junit, "<testcase classname=\"example.com/p%d\" name=\"TestSomething%d\" time=\"0.001\"></testcase>\n", i/100, i)
		for _, action := range []string{"run", "output", "pass"} {
			fmt.Fprintf(&events, "{\"Time\":\"2026-11-15T10:00:00Z\",\"Action\":%q,\"Package\":\"p%d\",\"Test\":\"TestSomething%d\",\"Output\":\"--- x\\n\"}\n", action, i/100, i)
		}
		if i%100 == 99 {
			fmt.Fprintf(&events, "{\"Action\":\"pass\",\"Package\":\"p%d\"}\n", i/100)
		}
	}
	junit.WriteString("</testsuite>")
	for _, c := range []struct {
		name, text string
		floor      func(io.Reader) error
	}{
		{"junit", junit.String(), xmlTokens},
		{"go", events.String(), jsonEvents},
	} {
		var ours, floor []float64
		megabytes := float64(len(c.text)) / 1e6
		for range rounds {
			floor = append(floor, megabytes/seconds(func() {
				if err := c.floor(strings.NewReader(c.text)); err != nil {
					t.Fatal(err)
				}
			}))
			ours = append(ours, megabytes/seconds(func() {
				r, err := testreport.Parse(strings.NewReader(c.text))
				if err != nil || r.Results.Passed != tests {
					t.Fatalf("%+v, %v", r.Results, err)
				}
			}))
		}
		line(t, "testreport."+c.name, median(ours), median(floor), "MB/s", ">=0.5")
	}
}

func xmlTokens(r io.Reader) error {
	d := xml.NewDecoder(r)
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

func jsonEvents(r io.Reader) error {
	d := json.NewDecoder(r)
	for {
		var event struct{ Action, Package, Test, Output string }
		if err := d.Decode(&event); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}
