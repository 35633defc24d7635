package proc

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"

	"golang.org/x/sys/unix"
)

// The conversation between deed and a supervisor runs over one stream socket. A message is a length of four bytes
// and JSON; descriptors travel with the length.
//
//	deed                                     supervisor
//	 │ ◄──────────────────────── ready ─────  │  once
//	 │ ── run{seq, argv, …} + 0, 1, 2, … ───► │  fork, exec
//	 │ ◄── started{seq, pid} ───────────────  │  or refused{seq, errno}, and the run is over
//	 │ ── end{seq, grace} ──────────────────► │  at cancel; a later one can only shorten the grace
//	 │                                        │  SIGTERM, grace, SIGKILL
//	 │ ◄── done{seq, …} ────────────────────  │  no process of the run is left
//	 │ ── (end of file) ────────────────────► │  deed closed or died: SIGKILL to everything, exit
//
// The socket is the lifeline: the kernel closes deed's end however deed dies.
const (
	opReady   = "ready"
	opRun     = "run"
	opStarted = "started"
	opRefused = "refused"
	opEnd     = "end"
	opDone    = "done"
)

type message struct {
	Op      string      `json:"op"`
	Seq     uint64      `json:"seq,omitempty"`
	Run     *runRequest `json:"run,omitempty"`
	PID     int         `json:"pid,omitempty"`
	Errno   int         `json:"errno,omitempty"`
	What    string      `json:"what,omitempty"`     // with refused: what could not be done
	GraceMS int64       `json:"grace_ms,omitempty"` // with end
	Done    *doneReport `json:"done,omitempty"`
}

// A runRequest carries bytes, not text: arguments and variables need not be UTF-8.
type runRequest struct {
	Path      []byte   `json:"path"`
	Argv      [][]byte `json:"argv"`
	Env       [][]byte `json:"env"`
	Dir       []byte   `json:"dir"`
	TimeoutNS int64    `json:"timeout_ns,omitempty"`
	GraceNS   int64    `json:"grace_ns,omitempty"`
	Limits    *Limits  `json:"limits,omitempty"`
	Wrapper   bool     `json:"wrapper,omitempty"`
	Files     int      `json:"files"` // how many descriptors come along
}

type doneReport struct {
	Status     uint32 `json:"status"` // of wait4
	TimedOut   bool   `json:"timed_out,omitempty"`
	Canceled   bool   `json:"canceled,omitempty"`
	DurationNS int64  `json:"duration_ns"`
	Killed     int    `json:"killed,omitempty"`
	MaxRSSKiB  int64  `json:"max_rss_kib"`
	UserNS     int64  `json:"user_ns"`
	SystemNS   int64  `json:"system_ns"`
	Survivors  []int  `json:"survivors,omitempty"`
}

const maxMessage = 64 << 20

// A channel sends and receives messages. One goroutine receives; any may send.
type channel struct {
	conn *net.UnixConn

	mu sync.Mutex // held while a message is written
}

func (c *channel) send(m message, files ...int) error {
	body, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("send %s: %w", m.Op, err)
	}
	if len(body) > maxMessage {
		return fmt.Errorf("send %s: %d bytes of arguments and environment (at most %d)", m.Op, len(body), maxMessage)
	}
	head := binary.BigEndian.AppendUint32(nil, uint32(len(body)))
	var rights []byte
	if len(files) > 0 {
		rights = unix.UnixRights(files...)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, _, err := c.conn.WriteMsgUnix(head, rights, nil); err != nil {
		return fmt.Errorf("send %s: %w", m.Op, err)
	}
	if _, err := c.conn.Write(body); err != nil {
		return fmt.Errorf("send %s: %w", m.Op, err)
	}
	return nil
}

// receive returns the next message and the descriptors that came with it, which are the caller's to close. They are
// close-on-exec.
func (c *channel) receive() (m message, files []int, err error) {
	var head [4]byte
	oob := make([]byte, unix.CmsgSpace(4*maxDescriptors))
	n, oobn, _, _, err := c.conn.ReadMsgUnix(head[:], oob)
	if err != nil {
		return m, nil, err
	}
	if n == 0 {
		return m, nil, io.EOF
	}
	if oobn > 0 {
		if files, err = parseRights(oob[:oobn]); err != nil {
			return m, nil, err
		}
	}
	if _, err = io.ReadFull(c.conn, head[n:]); err == nil {
		size := binary.BigEndian.Uint32(head[:])
		if size > maxMessage {
			err = fmt.Errorf("a message of %d bytes", size)
		} else {
			body := make([]byte, size)
			if _, err = io.ReadFull(c.conn, body); err == nil {
				err = json.Unmarshal(body, &m)
			}
		}
	}
	if err != nil {
		closeAll(files)
		return m, nil, err
	}
	return m, files, nil
}

func parseRights(oob []byte) ([]int, error) {
	msgs, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, err
	}
	var files []int
	for i := range msgs {
		fds, err := unix.ParseUnixRights(&msgs[i])
		if err != nil {
			closeAll(files)
			return nil, errors.New("a control message without descriptors")
		}
		files = append(files, fds...)
	}
	return files, nil
}

func closeAll(fds []int) {
	for _, fd := range fds {
		_ = unix.Close(fd)
	}
}
