package testreport_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/deedrun/deed/internal/testreport"
)

func BenchmarkParse(b *testing.B) {
	var junit, events strings.Builder
	junit.WriteString("<testsuite>")
	for i := range 20_000 {
		fmt.Fprintf(&junit, "<testcase classname=\"example.com/p%d\" name=\"TestSomething%d\" time=\"0.001\"></testcase>\n", i/100, i)
		for _, action := range []string{"run", "output", "pass"} {
			fmt.Fprintf(&events, "{\"Time\":\"2026-11-15T10:00:00Z\",\"Action\":%q,\"Package\":\"p%d\",\"Test\":\"TestSomething%d\",\"Output\":\"--- x\\n\"}\n", action, i/100, i)
		}
	}
	for i := range 200 {
		fmt.Fprintf(&events, "{\"Action\":\"pass\",\"Package\":\"p%d\"}\n", i)
	}
	junit.WriteString("</testsuite>")
	for name, text := range map[string]string{"junit": junit.String(), "go": events.String()} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if _, err := testreport.Parse(strings.NewReader(text)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
