package workspace

import (
	"crypto/sha256"
	"errors"
	"io"

	"golang.org/x/sys/unix"
)

// errContent means that an entry is not, or no longer, what the manifest says.
var errContent = errors.New("its content is not the recorded one")

// copyOut writes the content of a recorded file, or the target of a recorded link, and makes sure that it is the
// recorded one: exactly e.Size bytes were written when it returns nil, and they have e's digest.
func (t *tree) copyOut(e *Entry, w io.Writer, buf []byte) error {
	dir, name, err := t.openParent(e.Path)
	if err != nil {
		return notAsRecorded(err)
	}
	defer unix.Close(dir)
	if e.Kind == KindSymlink {
		target, err := readlinkAt(dir, name, e.Size)
		if err != nil {
			return notAsRecorded(err)
		}
		if target != e.Target {
			return errContent
		}
		_, err = io.WriteString(w, target)
		return err
	}
	var st unix.Stat_t
	fd, err := openFileAt(dir, name, &st)
	if err != nil {
		return notAsRecorded(err)
	}
	defer unix.Close(fd)
	if st.Size != e.Size {
		return errContent
	}
	h := sha256.New()
	for left := e.Size; left > 0; {
		n, err := read(fd, buf[:min(left, int64(len(buf)))])
		if err != nil {
			return err
		}
		if n == 0 {
			return errContent
		}
		h.Write(buf[:n])
		if _, err := w.Write(buf[:n]); err != nil {
			return err
		}
		left -= int64(n)
	}
	if Hash(h.Sum(nil)) != e.SHA256 {
		return errContent
	}
	return nil
}

func notAsRecorded(err error) error {
	if gone(err) || swapped(err) || errors.Is(err, unix.EINVAL) { // EINVAL: readlink of what is not a link
		return errors.Join(errContent, err)
	}
	return err
}

// tampered and changed give an error of copyOut its code, by the side that it was read from.
func tampered(op, path string, err error) error { return recoded(ErrBaseTampered, op, path, err) }

func changed(op, path string, err error) error {
	return recoded(ErrChangedDuringCapture, op, path, err)
}

func recoded(c Code, op, path string, err error) error {
	if errors.Is(err, errContent) {
		return &Error{Code: c, Op: op, Path: path, Err: err}
	}
	return err
}
