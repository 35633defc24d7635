package store

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"hutch/internal/testkit"
)

func newStore(max int) (*Store, *testkit.Clock) {
	clock := testkit.NewClock()
	return NewWithClock(max, clock.Now), clock
}

func TestEvicts(t *testing.T) {
	tests := []struct {
		name string
		max  int
		do   string // a key alone is set, with a question mark it is read
		want []string
	}{
		{"nothing while there is room", 3, "a b c", []string{"a", "b", "c"}},
		{"the oldest", 2, "a b c", []string{"b", "c"}},
		{"not what was read", 2, "a b a? c", []string{"a", "c"}},
		{"not what was set again", 2, "a b a c", []string{"a", "c"}},
		{"one after the other", 3, "a b c a? d b? e", []string{"a", "d", "e"}},
		{"at least one stays", 0, "a b", []string{"b"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, _ := newStore(tt.max)
			for _, word := range strings.Fields(tt.do) {
				if key, read := strings.CutSuffix(word, "?"); read {
					s.Get(key)
				} else {
					s.Set(key, "x", 0)
				}
			}
			if got := s.Keys(""); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("keys %q, want %q", got, tt.want)
			}
		})
	}
}

func TestExpiry(t *testing.T) {
	s, clock := newStore(4)
	s.Set("short", "1", 2*time.Second)
	s.Set("long", "2", time.Minute)
	s.Set("ever", "3", 0)
	clock.Advance(2*time.Second - time.Millisecond)
	if _, ok := s.Get("short"); !ok {
		t.Error("short is gone too early")
	}
	clock.Advance(time.Millisecond)
	if _, ok := s.Get("short"); ok {
		t.Error("short is there when its time is over")
	}
	if got := s.Len(); got != 2 {
		t.Errorf("%d values are alive, want 2", got)
	}
	clock.Advance(time.Hour)
	if got := s.Keys(""); !reflect.DeepEqual(got, []string{"ever"}) {
		t.Errorf("keys %q after an hour", got)
	}
}

func TestExpiredGoFirst(t *testing.T) {
	s, clock := newStore(2)
	s.Set("old", "1", 0)
	s.Set("brief", "2", time.Second)
	clock.Advance(2 * time.Second)
	s.Set("new", "3", 0)
	if got := s.Keys(""); !reflect.DeepEqual(got, []string{"new", "old"}) {
		t.Errorf("keys %q", got)
	}
}

func TestIncr(t *testing.T) {
	s, clock := newStore(4)
	for _, want := range []int64{5, 10} {
		if got, err := s.Incr("n", 5); err != nil || got != want {
			t.Errorf("%d, %v, want %d", got, err, want)
		}
	}
	s.Set("word", "five", 0)
	if _, err := s.Incr("word", 1); !errors.Is(err, ErrNumber) {
		t.Errorf("a word: %v", err)
	}
	s.Set("visits", "7", time.Minute)
	clock.Advance(50 * time.Second)
	if got, _ := s.Incr("visits", 1); got != 8 {
		t.Errorf("%d visits, want 8", got)
	}
	clock.Advance(20 * time.Second)
	if got, ok := s.Get("visits"); ok {
		t.Errorf("visits outlived their minute: %s", got)
	}
}

func TestDelete(t *testing.T) {
	s, _ := newStore(2)
	s.Set("a", "1", 0)
	if !s.Delete("a") || s.Delete("a") || s.Len() != 0 {
		t.Error("a can be deleted once")
	}
}

func TestAny(t *testing.T) {
	s, clock := newStore(4)
	if key, ok := s.Any(); ok {
		t.Errorf("%q in an empty store", key)
	}
	s.Set("brief", "1", time.Second)
	s.Set("ever", "2", 0)
	clock.Advance(time.Second)
	if key, _ := s.Any(); key != "ever" {
		t.Errorf("any is %q", key)
	}
}

func TestDump(t *testing.T) {
	s, clock := newStore(8)
	s.Set("plain", "1", 0)
	s.Set("with blanks", "say \"hi\"\n", 0)
	s.Set("brief", "x", time.Second)
	s.Set("longer", "y", time.Minute)
	clock.Advance(1500 * time.Millisecond)
	var first, second bytes.Buffer
	if err := s.Dump(&first); err != nil {
		t.Fatal(err)
	}
	testkit.Golden(t, "testdata/dump.golden", first.Bytes())

	again := NewWithClock(8, clock.Now)
	if err := again.Load(bytes.NewReader(first.Bytes())); err != nil {
		t.Fatal(err)
	}
	if err := again.Dump(&second); err != nil || first.String() != second.String() {
		t.Errorf("loaded and dumped again (%v):\n%s", err, second.String())
	}
	if err := again.Load(strings.NewReader("set a b\nget a\n")); err == nil || err.Error() != "line 2: get in a dump" {
		t.Errorf("get in a dump: %v", err)
	}
}
