// Package report sums hits and prints the sums.
package report

import (
	"encoding/json"
	"fmt"
	"io"
	"sort"
	"strconv"

	"example.test/hitcount/access"
)

// A Row is the sum of the hits with one key.
type Row struct {
	Key    string `json:"key"`
	Hits   int    `json:"hits"`
	Bytes  int64  `json:"bytes"`
	Errors int    `json:"errors"`
}

// A Sum adds hits up by a key.
type Sum struct {
	key  func(access.Hit) string
	rows map[string]*Row
}

// New returns a sum by path, status or hour.
func New(by string) (*Sum, error) {
	keys := map[string]func(access.Hit) string{
		"path":   func(h access.Hit) string { return h.Path },
		"status": func(h access.Hit) string { return strconv.Itoa(h.Status) },
		"hour":   func(h access.Hit) string { return h.At.Format("15:00") },
	}
	key, ok := keys[by]
	if !ok {
		return nil, fmt.Errorf("cannot sum by %q: use path, status or hour", by)
	}
	return &Sum{key, map[string]*Row{}}, nil
}

// Add adds a hit. A status of 400 and above is an error.
func (s *Sum) Add(h access.Hit) {
	key := s.key(h)
	row := s.rows[key]
	if row == nil {
		row = &Row{Key: key}
		s.rows[key] = row
	}
	row.Hits++
	row.Bytes += h.Bytes
	if h.Status >= 400 {
		row.Errors++
	}
}

// Rows returns the sums, most hits first, then by key; at most top rows when top is above 0.
func (s *Sum) Rows(top int) []Row {
	out := make([]Row, 0, len(s.rows))
	for _, row := range s.rows {
		out = append(out, *row)
	}
	sort.Slice(out, func(i, j int) bool {
		if out[i].Hits != out[j].Hits {
			return out[i].Hits > out[j].Hits
		}
		return out[i].Key < out[j].Key
	})
	if top > 0 && len(out) > top {
		out = out[:top]
	}
	return out
}

// Table prints rows for people.
func Table(w io.Writer, rows []Row) error {
	width := len("total")
	for _, row := range rows {
		width = max(width, len(row.Key))
	}
	var total Row
	for _, row := range rows {
		total.Hits += row.Hits
		total.Bytes += row.Bytes
		total.Errors += row.Errors
		if _, err := fmt.Fprintf(w, "%-*s %6d %8s %s\n", width, row.Key, row.Hits, Size(row.Bytes), percent(row)); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "%-*s %6d %8s %s\n", width, "total", total.Hits, Size(total.Bytes), percent(total))
	return err
}

// JSON prints rows for programs.
func JSON(w io.Writer, rows []Row) error {
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	return out.Encode(rows)
}

func percent(row Row) string {
	if row.Hits == 0 {
		return "-"
	}
	return fmt.Sprintf("%5.1f%%", 100*float64(row.Errors)/float64(row.Hits))
}

// Size writes bytes in units of 1024.
func Size(n int64) string {
	if n < 1024 {
		return fmt.Sprintf("%dB", n)
	}
	value, unit := float64(n)/1024, "KiB"
	for _, next := range []string{"MiB", "GiB"} {
		if value < 1024 {
			break
		}
		value, unit = value/1024, next
	}
	return fmt.Sprintf("%.1f%s", value, unit)
}
