package cli

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/deedrun/deed/internal/base/terminal"
)

// What drives a terminal does not come through, wherever the document is cut into pieces.
func TestSafeWriter(t *testing.T) {
	t.Parallel()
	doc, err := json.MarshalIndent(map[string]string{"m": "a\u202eb \u009b31m é 日 \x7f \U0001f600"}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	for name, size := range map[string]int{"whole": len(doc), "bytes": 1, "threes": 3} {
		var out bytes.Buffer
		w := &safeWriter{w: &out, json: true}
		for at := 0; at < len(doc); at += size {
			piece := doc[at:min(at+size, len(doc))]
			if n, err := w.Write(piece); err != nil || n != len(piece) {
				t.Fatal(n, err)
			}
		}
		if out.String() != string(terminal.SafeJSON(doc)) {
			t.Errorf("%s: %s", name, out.String())
		}
	}
	var out bytes.Buffer
	if _, err := (&safeWriter{w: &out}).Write([]byte("::error::a\x1b[31mb\u202e\r\n")); err != nil || out.String() != "::error::a[31mb\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
}
