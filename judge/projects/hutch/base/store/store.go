// Package store keeps a limited number of values, some of them for a limited time.
package store

import (
	"bufio"
	"container/list"
	"errors"
	"fmt"
	"io"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"hutch/internal/wire"
)

// ErrNumber says that a value cannot be counted on.
var ErrNumber = errors.New("not a number")

// Store may be used by several goroutines.
type Store struct {
	mu    sync.Mutex
	max   int
	now   func() time.Time
	items map[string]*list.Element
	order *list.List // in front is what was used last
}

type item struct {
	key, value string
	until      time.Time // zero: for ever
}

// New makes a store of at most max values.
func New(max int) *Store {
	return NewWithClock(max, time.Now)
}

// NewWithClock is New with another clock.
func NewWithClock(max int, now func() time.Time) *Store {
	if max < 1 {
		max = 1
	}
	return &Store{max: max, now: now, items: map[string]*list.Element{}, order: list.New()}
}

// Set keeps a value. A ttl of 0 is for ever.
func (s *Store) Set(key, value string, ttl time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var until time.Time
	if ttl > 0 {
		until = s.now().Add(ttl)
	}
	s.put(key, value, until)
}

// Get gives a value that is alive.
func (s *Store) Get(key string) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.alive(key)
	if e == nil {
		return "", false
	}
	s.order.MoveToFront(e)
	return e.Value.(*item).value, true
}

// Delete says whether there was a value.
func (s *Store) Delete(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.alive(key)
	if e == nil {
		return false
	}
	s.drop(e)
	return true
}

// Incr adds to a number and gives the sum. The time to live stays what it is.
func (s *Store) Incr(key string, by int64) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var n int64
	var until time.Time
	if e := s.alive(key); e != nil {
		var err error
		if n, err = strconv.ParseInt(e.Value.(*item).value, 10, 64); err != nil {
			return 0, ErrNumber
		}
		until = e.Value.(*item).until
	}
	n += by
	s.put(key, strconv.FormatInt(n, 10), until)
	return n, nil
}

// Keys gives the keys that are alive and begin with prefix, sorted.
func (s *Store) Keys(prefix string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sweep()
	keys := []string{}
	for key := range s.items {
		if strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
	}
	sort.Strings(keys)
	return keys
}

// Any gives some key that is alive.
func (s *Store) Any() (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sweep()
	for key := range s.items {
		return key, true
	}
	return "", false
}

// Len is the number of values that are alive.
func (s *Store) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sweep()
	return len(s.items)
}

func (s *Store) put(key, value string, until time.Time) {
	if e, ok := s.items[key]; ok {
		e.Value = &item{key, value, until}
		s.order.MoveToFront(e)
		return
	}
	if len(s.items) >= s.max {
		s.sweep()
	}
	for len(s.items) >= s.max {
		s.drop(s.order.Back())
	}
	s.items[key] = s.order.PushFront(&item{key, value, until})
}

func (s *Store) alive(key string) *list.Element {
	e, ok := s.items[key]
	if !ok {
		return nil
	}
	if s.over(e.Value.(*item)) {
		s.drop(e)
		return nil
	}
	return e
}

func (s *Store) over(it *item) bool {
	return !it.until.IsZero() && !s.now().Before(it.until)
}

func (s *Store) sweep() {
	for e := s.order.Front(); e != nil; {
		next := e.Next()
		if s.over(e.Value.(*item)) {
			s.drop(e)
		}
		e = next
	}
}

func (s *Store) drop(e *list.Element) {
	s.order.Remove(e)
	delete(s.items, e.Value.(*item).key)
}

// Dump writes commands that make the same store, what was used last at the end.
func (s *Store) Dump(w io.Writer) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sweep()
	out := bufio.NewWriter(w)
	for e := s.order.Back(); e != nil; e = e.Prev() {
		it := e.Value.(*item)
		fmt.Fprintf(out, "set %s %s", wire.Quote(it.key), wire.Quote(it.value))
		if !it.until.IsZero() {
			fmt.Fprintf(out, " %s", it.until.Sub(s.now()))
		}
		fmt.Fprintln(out)
	}
	return out.Flush()
}

// Load reads what Dump wrote.
func (s *Store) Load(r io.Reader) error {
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		cmd, err := wire.Parse(lines.Text())
		if err == nil && cmd.Name != "set" {
			err = fmt.Errorf("%s in a dump", cmd.Name)
		}
		var ttl time.Duration
		if err == nil && len(cmd.Args) == 3 {
			ttl, err = time.ParseDuration(cmd.Args[2])
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		s.Set(cmd.Args[0], cmd.Args[1], ttl)
	}
	return lines.Err()
}
