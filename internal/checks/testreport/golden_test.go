package testreport_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/internal/checks/testreport"
)

var update = flag.Bool("update", false, "write what the reports are read as")

// TestReportsOfTools reads what real tools wrote. The files next to them say what they are read as.
func TestReportsOfTools(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, ".want") || filepath.Ext(file) == "" {
			continue
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var r testreport.Report
			if strings.HasSuffix(file, "spec.txt") {
				r, _ = testreport.Output(string(data), nil)
			} else if r, err = testreport.Parse(strings.NewReader(string(data))); err != nil {
				t.Fatal(err)
			}
			got := describe(&r)
			if *update {
				if err := os.WriteFile(file+".want", []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file + ".want")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// describe tells a report on lines.
func describe(r *testreport.Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: total %d, passed %d, failed %d, skipped %d", r.Format, r.Results.Total, r.Results.Passed, r.Results.Failed, r.Results.Skipped)
	if r.Results.Partial != "" {
		fmt.Fprintf(&b, ", partial %s", r.Results.Partial)
	}
	b.WriteString("\n")
	for _, w := range r.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", w)
	}
	for _, c := range r.Cases {
		fmt.Fprintf(&b, "%s %q %q", c.Status, c.Suite, c.Name)
		if c.Type != "" {
			fmt.Fprintf(&b, " type %s", c.Type)
		}
		if c.File != "" {
			fmt.Fprintf(&b, " at %s:%d", c.File, c.Line)
		}
		if c.Message != "" {
			line, _, _ := strings.Cut(c.Message, "\n")
			fmt.Fprintf(&b, " says %q", line)
		}
		b.WriteString("\n")
	}
	return b.String()
}
