package terminal

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestKeys(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][]Key{
		"j":            {'j'},
		"é":            {'é'},
		"\x1b":         {KeyEscape},
		"\x1b[A\x1bOB": {KeyUp, KeyDown},
		"\x1b[5~x":     {KeyPageUp, 'x'},
		"\x1b[1;5C":    {KeyUnknown},
		"\x1b[":        {KeyUnknown},
		"\x1bq":        {KeyEscape, 'q'},
		"\r\n":         {KeyEnter, KeyEnter},
		"\x7f\b":       {KeyBackspace, KeyBackspace},
		"\xff":         {KeyUnknown},
	} {
		if got := Keys([]byte(in)); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", in, got, want)
		}
	}
}

func FuzzKeys(f *testing.F) {
	for _, s := range []string{"j", "\x1b[A", "\x1b[1;5C", "\xff\x1b"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		keys := Keys(in)
		if len(keys) > len(in) || len(in) > 0 && len(keys) == 0 {
			t.Fatalf("%q: %d keys", in, len(keys))
		}
		for _, k := range keys {
			if k.Text() && (Drives(rune(k)) || !utf8.ValidRune(rune(k))) {
				t.Fatalf("%q: %x is taken for text", in, k)
			}
		}
	})
}

func TestColumnsHoldWhatAgentsWrite(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"short", strings.Repeat("long ", 50), "\x1b[31mred\x1b[0m", "日本語のテキスト", "a\u0301combined"} {
		if w := Width(Column(Clean(s), 12)); w != 12 {
			t.Errorf("%q is %d wide", s, w)
		}
	}
	if got := Clean("a\x1b]0;t\x07b\x1b[2Jc\u202ed\ne\x00"); got != "abcd e" {
		t.Errorf("%q", got)
	}
}
