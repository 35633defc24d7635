package model

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// An event is one of a text/event-stream. Its data is valid until the next one is read.
type event struct {
	name    string
	data    []byte // the lines of the data, with line ends between them
	hasData bool   // there was a line of data, if only an empty one
}

// An eventReader reads events. It sets no bound of its own: a line and an event may be as long as the answer, which the
// transport bounds. A line ends with LF or CRLF; no service ends one with CR alone.
type eventReader struct {
	in     *bufio.Reader
	begun  bool // past the byte order mark with which some writers begin
	line   []byte
	data   []byte
	failed error
}

func newEventReader(in io.Reader) *eventReader { return &eventReader{in: bufio.NewReader(in)} }

// next returns the next event that has a name or data. At the end it is io.EOF: an event that no empty line ended is
// not one, since nobody can tell whether it is whole.
func (r *eventReader) next() (event, error) {
	var e event
	r.data = r.data[:0]
	for {
		line, ok := r.readLine()
		if !ok {
			return event{}, r.failed
		}
		if len(line) == 0 {
			if e.name == "" && !e.hasData {
				continue
			}
			e.data = r.data
			return e, nil
		}
		field, value, _ := bytes.Cut(line, []byte(":")) // a line that begins with a colon is a comment
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "event":
			e.name = string(value)
		case "data":
			if e.hasData {
				r.data = append(r.data, '\n')
			}
			r.data, e.hasData = append(r.data, value...), true
		}
	}
}

// readLine returns a line without its end. What stands before the end of the stream is a line too.
func (r *eventReader) readLine() ([]byte, bool) {
	if r.failed != nil {
		return nil, false
	}
	r.line = r.line[:0]
	for {
		part, err := r.in.ReadSlice('\n')
		r.line = append(r.line, part...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		r.failed = err
		break
	}
	if r.failed != nil && len(r.line) == 0 {
		return nil, false
	}
	line := bytes.TrimSuffix(bytes.TrimSuffix(r.line, []byte("\n")), []byte("\r"))
	if !r.begun {
		r.begun = true
		line = bytes.TrimPrefix(line, []byte("\ufeff"))
	}
	return line, true
}

// eachEvent gives the events of an answer to add, until it is done, fails, or says that it has enough.
func eachEvent(in io.Reader, add func(event) (enough bool, err error)) error {
	events := newEventReader(in)
	for {
		e, err := events.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if enough, err := add(e); enough || err != nil {
			return err
		}
	}
}
