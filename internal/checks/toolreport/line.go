package toolreport

import (
	"bufio"
	"errors"
	"io"
	"iter"
)

// MaxLine is the longest part of a line that Lines returns; the rest is cut.
const MaxLine = 64 << 10

// Lines yields the lines of a text without their ends, including a last one that has none. A line is cut at MaxLine bytes, and is
// only valid until the next one. An error of the reader comes last, with an empty line.
func Lines(r io.Reader) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		in := bufio.NewReaderSize(r, MaxLine)
		for {
			line, err := in.ReadSlice('\n')
			if len(line) > 0 && !yield(trimEnd(line), nil) {
				return
			}
			for errors.Is(err, bufio.ErrBufferFull) {
				_, err = in.ReadSlice('\n')
			}
			switch {
			case errors.Is(err, io.EOF):
				return
			case err != nil:
				yield(nil, err)
				return
			}
		}
	}
}

func trimEnd(line []byte) []byte {
	if n := len(line); n > 0 && line[n-1] == '\n' {
		line = line[:n-1]
	}
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	return line
}
