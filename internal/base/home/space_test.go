package home

import "testing"

func TestFull(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		bytes, files uint64
		want         bool
	}{
		{0, 0, false}, // not known
		{0, 1000, true},
		{4096, 1000, true},
		{4096, 0, true},
		{1 << 20, 1000, false},
		{1 << 30, 0, false}, // of a file system that counts no files
	} {
		if got := full(tt.bytes, tt.files); got != tt.want {
			t.Errorf("%d bytes, %d files: full %v", tt.bytes, tt.files, got)
		}
	}
}
