package loop

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"

	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/isolate/redact"
)

// Where whole outputs are kept, below the record of the run, and how much of one output the model gets.
const (
	outputDir      = "tools"
	maxShownOutput = 30_000
)

// evidence keeps the outputs that are too long for the model.
type evidence struct {
	dir      string
	each     int64 // bytes of a file
	limit    int64 // bytes of all files
	redactor *redact.Redactor
	number   int   // of the last file
	used     int64 // bytes of all files
	cut      []driver.Truncation
}

// look finds what earlier turns have kept.
func (e *evidence) look() error {
	entries, err := os.ReadDir(path.Join(e.dir, outputDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, f := range entries {
		n, err := strconv.Atoi(strings.TrimSuffix(f.Name(), ".txt"))
		if err != nil {
			continue
		}
		e.number = max(e.number, n)
		if st, err := f.Info(); err == nil {
			e.used += st.Size()
		}
	}
	return nil
}

// A capture takes the output of one call. The model gets an output that fits unchanged. Of a longer one it gets head and tail,
// and the whole is in a file.
type capture struct {
	e     *evidence
	buf   []byte
	root  *os.Root
	rec   *driver.Recorder
	total int64
	ref   string
	text  string // after finish
}

func (e *evidence) capture() *capture { return &capture{e: e} }

func (c *capture) Write(p []byte) (int, error) {
	c.total += int64(len(p))
	if c.rec == nil && len(c.buf)+len(p) <= maxShownOutput {
		c.buf = append(c.buf, p...)
		return len(p), nil
	}
	if c.rec == nil {
		if err := c.open(); err != nil {
			return 0, err
		}
		if _, err := c.rec.Write(c.buf); err != nil {
			return 0, err
		}
		c.buf = nil
	}
	return c.rec.Write(p)
}

func (c *capture) open() (err error) {
	if c.root, err = os.OpenRoot(c.e.dir); err != nil {
		return err
	}
	if err = c.root.MkdirAll(outputDir, 0o700); err != nil {
		return err
	}
	c.e.number++
	c.ref = path.Join(outputDir, fmt.Sprintf("%03d.txt", c.e.number))
	// When all room is used, only what the model gets is kept.
	limit := max(min(c.e.each, c.e.limit-c.e.used), maxShownOutput)
	c.rec, err = driver.NewRecorder(c.root, c.ref, limit, c.e.redactor)
	return err
}

// finish makes the text that the model gets.
func (c *capture) finish() error {
	if c.root != nil {
		defer c.root.Close()
	}
	if c.rec == nil {
		c.text = strings.ToValidUTF8(c.e.redactor.String(string(c.buf)), "\ufffd")
		return nil
	}
	if err := c.rec.Finish(); err != nil {
		return err
	}
	total := c.rec.Total()
	head := make([]byte, min(maxShownOutput/2, total))
	n, err := c.rec.File().ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	tail := c.rec.Tail(min(maxShownOutput/2, total-int64(n)))
	c.text = fmt.Sprintf("%s\n[deed: %d of %d bytes are left out here]\n%s",
		strings.ToValidUTF8(string(head[:n]), "\ufffd"), total-int64(n)-int64(len(tail)), total, strings.ToValidUTF8(tail, "\ufffd"))
	if tr, ok := c.rec.Truncation(c.ref); ok {
		c.e.cut = append(c.e.cut, tr)
	}
	if st, err := c.rec.File().Stat(); err == nil {
		c.e.used += st.Size()
	}
	return c.rec.Close()
}
