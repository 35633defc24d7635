package tool

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// What goes between a Host and its process: a byte that says what it is, four that say how long it is, and that many.
const (
	frameCall   = 'c' // to the host: a wireCall
	frameOutput = 'o' // from the host: a piece of the output
	frameDone   = 'd' // from the host: an Outcome; the call is over
)

// Bounds of a frame. A call carries at most a file's new content, in which every byte may be escaped.
const (
	maxCallFrame = 6*MaxFile + 1<<20
	maxFrame     = 256 << 10
	outputChunk  = 64 << 10
)

// errFrame reports a stream that does not keep to the form.
var errFrame = errors.New("not a frame")

type wireCall struct {
	Tool  string          `json:"tool"`
	Input json.RawMessage `json:"input"`
}

// An Outcome says how a call ended. What it gave, or why it failed, is in its output.
type Outcome struct {
	Failed    bool   `json:"failed,omitempty"`
	ErrorType string `json:"error_type,omitempty"`
	ExitCode  *int   `json:"exit_code,omitempty"` // of a shell command that ended
}

func writeFrame(w io.Writer, kind byte, payload []byte) error {
	b := make([]byte, 5, 5+len(payload))
	b[0] = kind
	binary.BigEndian.PutUint32(b[1:], uint32(len(payload)))
	_, err := w.Write(append(b, payload...))
	return err
}

func readFrame(r io.Reader, limit uint32) (kind byte, payload []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	n := binary.BigEndian.Uint32(head[1:])
	if n > limit {
		return 0, nil, fmt.Errorf("%w: %d bytes (at most %d)", errFrame, n, limit)
	}
	payload = make([]byte, n)
	if _, err := io.ReadFull(r, payload); err != nil {
		return 0, nil, err
	}
	return head[0], payload, nil
}
