package tool

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
)

// What goes between a Host and its process: a byte that says what it is, four that say how long it is, a seal, and that many.
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

// Sizes of the parts of a frame.
const (
	headSize = 5
	sealSize = 16
	keySize  = 32
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
	Killed    int    `json:"killed,omitempty"`    // processes that it left running
}

// A wire is one end of the pipes. Commands of the agent run as the same user as the host, and the sandbox's first process has
// the pipes open too: they can write into them, and read from them. So every frame is sealed with a key that both ends know,
// and counted. The key is the first thing that a host reads, before there is any command, and the host keeps its memory to
// itself.
type wire struct {
	mac        hash.Hash
	side       byte // of this end: the two directions have seals of their own
	sent, read uint64
	buf        []byte // of the payload that was read last
}

// The sides.
const (
	sideDeed byte = 'D'
	sideHost byte = 'H'
)

func newWire(key []byte, side byte) *wire { return &wire{mac: hmac.New(sha256.New, key), side: side} }

func (x *wire) seal(side byte, n uint64, head, payload []byte) []byte {
	x.mac.Reset()
	x.mac.Write(binary.BigEndian.AppendUint64([]byte{side}, n))
	x.mac.Write(head)
	x.mac.Write(payload)
	return x.mac.Sum(nil)[:sealSize]
}

func (x *wire) writeFrame(w io.Writer, kind byte, payload []byte) error {
	b := make([]byte, headSize, headSize+sealSize+len(payload))
	b[0] = kind
	binary.BigEndian.PutUint32(b[1:], uint32(len(payload)))
	b = append(b, x.seal(x.side, x.sent, b, payload)...)
	x.sent++
	_, err := w.Write(append(b, payload...))
	return err
}

// readFrame reads a frame. Its payload is good until the next one is read.
func (x *wire) readFrame(r io.Reader, limit uint32) (kind byte, payload []byte, err error) {
	var head [headSize + sealSize]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	n := binary.BigEndian.Uint32(head[1:])
	if n > limit {
		return 0, nil, fmt.Errorf("%w: %d bytes (at most %d)", errFrame, n, limit)
	}
	x.buf = slices.Grow(x.buf[:0], int(n))
	payload = x.buf[:n]
	if _, err := io.ReadFull(r, payload); err != nil {
		return 0, nil, err
	}
	other := sideDeed
	if x.side == sideDeed {
		other = sideHost
	}
	if !hmac.Equal(head[headSize:], x.seal(other, x.read, head[:headSize], payload)) {
		return 0, nil, fmt.Errorf("%w: somebody else wrote it", errFrame)
	}
	x.read++
	return head[0], payload, nil
}
