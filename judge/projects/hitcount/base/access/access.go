// Package access reads lines of an access log.
package access

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A Hit is one line of the log.
type Hit struct {
	At     time.Time
	Method string
	Path   string
	Status int
	Bytes  int64
}

// Parse reads one line: time, method, path, status, bytes. The query is no part of the path; "-" means no bytes.
func Parse(line string) (Hit, error) {
	words := strings.Fields(line)
	if len(words) != 5 {
		return Hit{}, fmt.Errorf("%d words, want 5", len(words))
	}
	at, err := time.Parse(time.RFC3339, words[0])
	if err != nil {
		return Hit{}, fmt.Errorf("time: %w", err)
	}
	path, _, _ := strings.Cut(words[2], "?")
	status, err := strconv.Atoi(words[3])
	if err != nil || status < 100 || status > 599 {
		return Hit{}, fmt.Errorf("status %q", words[3])
	}
	var size int64
	if words[4] != "-" {
		if size, err = strconv.ParseInt(words[4], 10, 64); err != nil || size < 0 {
			return Hit{}, fmt.Errorf("bytes %q", words[4])
		}
	}
	return Hit{at.UTC(), words[1], path, status, size}, nil
}
