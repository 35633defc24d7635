package home

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Due reports whether something that is done from time to time, by whichever process comes by, was last done longer ago
// than every, or never. A mark from the future counts as never: the clock was set back.
func (h *Home) Due(name string, now time.Time, every time.Duration) bool {
	fi, err := os.Stat(h.mark(name))
	if err != nil {
		return true
	}
	age := now.Sub(fi.ModTime())
	return age < 0 || age >= every
}

// Done marks that it was done now.
func (h *Home) Done(name string, now time.Time) error {
	f, err := os.OpenFile(h.mark(name), os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		err = f.Close()
	}
	if err == nil {
		err = os.Chtimes(h.mark(name), now, now)
	}
	if err != nil {
		return fmt.Errorf("mark %s: %w", name, err)
	}
	return nil
}

// mark is in the cache: without it, what it marks is only done once more.
func (h *Home) mark(name string) string { return filepath.Join(h.Cache(), name+".mark") }
