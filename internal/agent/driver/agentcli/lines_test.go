package agentcli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// split feeds a stream in chunks and returns its lines; a long one becomes "LONG length".
func split(stream string, chunk int) []string {
	var got []string
	l := &Lines{
		Line: func(b []byte) { got = append(got, string(b)) },
		Long: func(head []byte, n int64) { got = append(got, "LONG "+string(head[:min(3, len(head))])) },
	}
	for len(stream) > 0 {
		n := min(chunk, len(stream))
		_, _ = l.Write([]byte(stream[:n]))
		stream = stream[n:]
	}
	l.Close()
	return got
}

func TestLines(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", MaxLine+1)
	for name, tc := range map[string]struct {
		stream string
		want   []string
	}{
		"nothing":        {"", nil},
		"lines":          {"a\nbb\n", []string{"a", "bb"}},
		"no last end":    {"a\nbb", []string{"a", "bb"}},
		"empty lines":    {"\n\na\n\r\n\n", []string{"a"}},
		"CRLF":           {"a\r\nb\r\n", []string{"a", "b"}},
		"a lone CR":      {"a\rb\n", []string{"a\rb"}},
		"NUL":            {"a\x00b\n", []string{"a\x00b"}},
		"no UTF-8":       {"\xff\xfe\n{}\n", []string{"\xff\xfe", "{}"}},
		"long first":     {long + "\nb\n", []string{"LONG xxx", "b"}},
		"long between":   {"a\n" + long + "\nb\n", []string{"a", "LONG xxx", "b"}},
		"long last":      {"a\n" + long, []string{"a", "LONG xxx"}},
		"just not long":  {long[1:] + "\nb", []string{long[1:], "b"}},
		"two long":       {long + "\n" + long + "\nc", []string{"LONG xxx", "LONG xxx", "c"}},
		"long by little": {"ab" + long[1:] + "\nc", []string{"LONG abx", "c"}},
	} {
		for _, chunk := range []int{1 << 30, 64 << 10, 1000, 7} {
			if chunk < 1000 && len(tc.stream) > 1000 {
				continue
			}
			if d := cmp.Diff(tc.want, split(tc.stream, chunk)); d != "" {
				t.Errorf("%s, chunks of %d: %.300s", name, chunk, d)
			}
		}
	}
}

func FuzzLines(f *testing.F) {
	f.Add([]byte("a\r\nb\n\nc"), 1)
	f.Add([]byte("{\"type\":\"x\"}\n"), 3)
	f.Fuzz(func(t *testing.T, stream []byte, chunk int) {
		if chunk < 1 || chunk > 1<<20 {
			return
		}
		var want []string
		for line := range bytes.SplitSeq(stream, []byte("\n")) {
			if line = bytes.TrimSuffix(line, []byte("\r")); len(line) > 0 {
				want = append(want, string(line))
			}
		}
		if d := cmp.Diff(want, split(string(stream), chunk)); d != "" {
			t.Error(d)
		}
	})
}

// The memory of a stream is that of its longest line, whatever its length.
func TestLinesInConstantMemory(t *testing.T) {
	n := 0
	l := &Lines{Line: func([]byte) { n++ }, Long: func([]byte, int64) { n++ }}
	chunk := bytes.Repeat([]byte(`{"type":"item.completed"}`+"\n"), 1000)
	if allocs := testing.AllocsPerRun(100, func() { _, _ = l.Write(chunk) }); allocs > 0 {
		t.Errorf("%v allocations per chunk", allocs)
	}
	endless := make([]byte, 1<<20)
	for range 64 {
		_, _ = l.Write(endless)
	}
	if cap(l.buf) > MaxLine {
		t.Errorf("%d bytes are held of a line that is skipped", cap(l.buf))
	}
}
