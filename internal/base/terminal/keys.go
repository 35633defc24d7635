package terminal

import "unicode/utf8"

// A Key is what somebody pressed: a character, or one of the keys below.
type Key rune

// The keys that are no characters. They are outside of Unicode.
const (
	KeyUp Key = utf8.MaxRune + 1 + iota
	KeyDown
	KeyLeft
	KeyRight
	KeyPageUp
	KeyPageDown
	KeyHome
	KeyEnd
	KeyDelete
	KeyUnknown // a sequence that means nothing here
)

// Keys that are control characters.
const (
	KeyEnter     Key = '\r'
	KeyEscape    Key = 0x1b
	KeyBackspace Key = 0x7f
	KeyCtrlC     Key = 0x03
	KeyCtrlD     Key = 0x04
	KeyCtrlU     Key = 0x15
	KeyCtrlL     Key = 0x0c
)

// sequences are what terminals send for the keys that are no characters, without the escape.
var sequences = map[string]Key{
	"[A": KeyUp, "[B": KeyDown, "[C": KeyRight, "[D": KeyLeft, "OA": KeyUp, "OB": KeyDown, "OC": KeyRight, "OD": KeyLeft,
	"[5~": KeyPageUp, "[6~": KeyPageDown, "[H": KeyHome, "[F": KeyEnd, "OH": KeyHome, "OF": KeyEnd, "[1~": KeyHome, "[4~": KeyEnd, "[3~": KeyDelete,
}

// Keys reads what one read from a terminal returned. An escape at the end is the key itself: a terminal sends a sequence as a whole.
func Keys(in []byte) []Key {
	var out []Key
	for len(in) > 0 {
		k, n := key(in)
		out = append(out, k)
		in = in[n:]
	}
	return out
}

func key(in []byte) (Key, int) {
	if in[0] == '\n' {
		return KeyEnter, 1
	}
	if in[0] == '\b' {
		return KeyBackspace, 1
	}
	if in[0] != 0x1b {
		r, n := utf8.DecodeRune(in)
		if r == utf8.RuneError {
			return KeyUnknown, n
		}
		return Key(r), n
	}
	if len(in) == 1 || in[1] != '[' && in[1] != 'O' {
		return KeyEscape, 1
	}
	// Parameters, then one byte that ends the sequence.
	n := 2
	for n < len(in) && in[n] >= 0x20 && in[n] < 0x40 {
		n++
	}
	if n == len(in) {
		return KeyUnknown, n
	}
	n++
	if k, ok := sequences[string(in[1:n])]; ok {
		return k, n
	}
	return KeyUnknown, n
}

// Text reports whether a key is a character that can stand in a line.
func (k Key) Text() bool {
	return k <= utf8.MaxRune && k >= ' ' && k != KeyBackspace && !Drives(rune(k))
}
