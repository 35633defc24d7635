package component

import (
	"bytes"
	"strings"
	"testing"
)

// TestEnds writes a numbered stream in pieces of every size and demands its beginning and its end.
func TestEnds(t *testing.T) {
	t.Parallel()
	all := []byte(strings.Repeat("0123456789", 100))
	for _, size := range []int{0, 1, 9, 10, 11, 20, 21, 40, 41, 1000} {
		for piece := 1; piece <= 50; piece += 7 {
			e := &ends{max: 20}
			for rest := all[:size]; len(rest) > 0; {
				n := min(piece, len(rest))
				if got, err := e.Write(rest[:n]); got != n || err != nil {
					t.Fatalf("wrote %d, %v", got, err)
				}
				rest = rest[n:]
			}
			got := e.bytes()
			if size <= 20 {
				if !bytes.Equal(got, all[:size]) || e.cut != 0 {
					t.Errorf("%d in pieces of %d: %q", size, piece, got)
				}
				continue
			}
			if !bytes.HasPrefix(got, all[:10]) || !bytes.HasSuffix(got, all[size-10:size]) || e.cut != size-20 {
				t.Errorf("%d in pieces of %d: %q, %d gone", size, piece, got, e.cut)
			}
		}
	}
}
