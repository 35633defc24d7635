package check

import (
	"bytes"
	"io"
	"sync"
	"unicode/utf8"
)

// keep is how much of each stream is remembered for reading results from it. Summaries stand at the end.
const keep = 4 << 20

// A tail remembers the end of a stream and passes everything on.
type tail struct {
	mu    sync.Mutex
	buf   []byte
	total int64
	next  io.Writer
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	t.total += int64(len(p))
	if t.buf = append(t.buf, p...); len(t.buf) > 2*keep {
		t.buf = append(t.buf[:0], t.buf[len(t.buf)-keep:]...)
	}
	t.mu.Unlock()
	if t.next == nil {
		return len(p), nil
	}
	return t.next.Write(p)
}

// text is what is remembered, as valid UTF-8.
func (t *tail) text() string {
	b := t.buf
	if len(b) > keep {
		b = b[len(b)-keep:]
	}
	return string(bytes.ToValidUTF8(b, []byte(string(utf8.RuneError))))
}

// tailLines is how many lines of each stream a report repeats.
const tailLines = 80

// maxTail bounds those lines together: one line can be as long as a program likes.
const maxTail = 64 << 10

// lastLines returns the last lines of a text and whether there were more.
func lastLines(s string) (string, bool) {
	cut := false
	end := len(s)
	if end > 0 && s[end-1] == '\n' {
		end--
	}
	at := end
	for range tailLines {
		i := bytes.LastIndexByte([]byte(s[:at]), '\n')
		if i < 0 {
			at = 0
			break
		}
		at = i
	}
	if at > 0 {
		s, cut = s[at+1:end], true
	} else {
		s = s[:end]
	}
	if len(s) > maxTail {
		s, cut = s[len(s)-maxTail:], true
		for len(s) > 0 && !utf8.RuneStart(s[0]) {
			s = s[1:]
		}
	}
	return s, cut
}
