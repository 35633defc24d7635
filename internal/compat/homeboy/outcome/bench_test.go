package outcome

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/isolate/redact"
)

// BenchmarkRead reads outcomes of 14 MiB, with a secret that occurs in them once: a table of many small values, and a few
// long texts. Memory and allocations do not depend on the machine: for a table of 14 MiB there are fewer than a thousand.
func BenchmarkRead(b *testing.B) {
	const size = 14 << 20
	var rows strings.Builder
	for i := 0; rows.Len() < size; i++ {
		fmt.Fprintf(&rows, `,{"path":"src/file-%d.go","line":%d,"message":"a finding with a few words","severity":"warning","fixed":true}`, i, i)
	}
	line := strings.Repeat(`a line of a log that was kept, with \"quotes\" and a tab\t`, 50) + `\n`
	secret := "s3cr3t-value-of-a-token"
	for name, output := range map[string]string{
		"table": "[" + rows.String()[1:] + `,{"message":"` + secret + `"}]`,
		"text":  `["` + strings.Repeat(line, size/len(line)) + secret + `"]`,
	} {
		text := []byte(`{"schema":"` + homeboy.SchemaOutcome + `","task_id":"t","status":"succeeded","summary":"done","metadata":{"tokens_used":3},"outputs":{"findings":` + output + `}}`)
		b.Run(name, func(b *testing.B) {
			q := homeboy.Request{TaskID: "t"}
			r := redact.New(map[string]string{"TOKEN": secret})
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				a := Read(homeboy.ExecutorProvider{ID: "p"}, q, Facts{End: Exited, Stdout: bytes.NewReader(text), StdoutSize: int64(len(text))}, r)
				if a.Outcome.Status != homeboy.Succeeded || bytes.Contains(a.Said, []byte(secret)) || bytes.Contains(a.Outcome.Outputs["findings"], []byte(secret)) {
					b.Fatalf("%s %v", a.Row, a.Outcome.Diagnostics)
				}
			}
		})
	}
}
