package agentcli

import "bytes"

// MaxLine bounds one event. A tool result with a picture in it has a few MiB.
const MaxLine = 8 << 20

// Lines cuts a stream into lines, in memory that does not grow with the stream. A line beyond MaxLine is skipped; the rest
// of the stream is read as if it were not there. It is used by one goroutine.
type Lines struct {
	// Line is called with each line that is not empty, without its end (LF or CRLF). The bytes are valid during the call.
	Line func(line []byte)
	// Long is called for a line that is too long, with its beginning and its length.
	Long func(head []byte, length int64)

	buf  []byte // the beginning of a line whose end has not come
	over int64  // bytes of a line that is skipped; 0: none is
}

// Write takes what the agent wrote. It never fails.
func (l *Lines) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			l.hold(p)
			break
		}
		l.end(p[:i])
		p = p[i+1:]
	}
	return n, nil
}

// Close takes a last line without an end.
func (l *Lines) Close() {
	if len(l.buf) > 0 || l.over > 0 {
		l.end(nil)
	}
}

// headBytes is what is kept of a line that is too long.
const headBytes = 256

func (l *Lines) hold(p []byte) {
	switch {
	case l.over > 0:
		l.over += int64(len(p))
	case len(l.buf)+len(p) > MaxLine:
		l.over = int64(len(l.buf) + len(p))
		if room := headBytes - len(l.buf); room > 0 {
			l.buf = append(l.buf, p[:min(room, len(p))]...)
		}
		l.buf = append([]byte(nil), l.buf[:headBytes]...) // lets go of the rest
	default:
		l.buf = append(l.buf, p...)
	}
}

// end completes a line whose last part is p.
func (l *Lines) end(p []byte) {
	if l.over == 0 && len(l.buf) == 0 && len(p) <= MaxLine { // nearly always: the line is whole, and needs no copy
		l.line(p)
		return
	}
	if l.over == 0 {
		l.hold(p)
	} else {
		l.over += int64(len(p))
	}
	if l.over > 0 {
		l.Long(l.buf[:min(headBytes, len(l.buf))], l.over)
	} else {
		l.line(l.buf)
	}
	l.buf, l.over = l.buf[:0], 0
}

func (l *Lines) line(b []byte) {
	if n := len(b); n > 0 && b[n-1] == '\r' {
		b = b[:n-1]
	}
	if len(b) > 0 {
		l.Line(b)
	}
}
