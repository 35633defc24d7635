package testreport

import "strings"

// tail keeps the end of a text. The end says why a test failed, the beginning what it logged on the way.
type tail struct {
	text []byte
	cut  bool
}

func (t *tail) add(s string) {
	t.text = append(t.text, s...)
	if len(t.text) > 2*MaxMessage {
		keep := t.text[len(t.text)-MaxMessage:]
		t.text = append(t.text[:0], keep...)
		t.cut = true
	}
}

func (t *tail) String() string {
	s := string(t.text)
	if len(s) > MaxMessage-len("…") {
		s = s[len(s)-(MaxMessage-len("…")):]
		t.cut = true
	}
	s = strings.ToValidUTF8(s, "")
	if t.cut {
		return "…" + s
	}
	return s
}
