package redact

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestMarks(t *testing.T) {
	t.Parallel()
	r := New(map[string]string{"KEY": "hunter2hunter2", "KEY_2": "correct horse", "odd name": "battery staple", "ANGLE": "]staple battery["})
	for _, tc := range []struct {
		name, text string
		want       Counts
	}{
		{"none", "REDACTED: nothing, [REDACTED], [REDACTED:]", Counts{}},
		{"one that begins like another", "[REDACTED:KEY] [REDACTED:KEY_2][REDACTED:KEY]", Counts{"KEY": 2, "KEY_2": 1}},
		{"another's secret", "[REDACTED:OTHER] [REDACTED:KEY_22] [REDACTED:KE]", Counts{}},
		{"no label", "REDACTED:KEY is what it says", Counts{}},
		{"cut off", "[REDACTED:KEY", Counts{}},
		{"a name that no label has", r.String("battery staple"), Counts{"odd name": 1}},
		{"another bracket", r.String("x]staple battery[y"), Counts{"ANGLE": 1}},
		{"another bracket, in JSON", `"\u003cREDACTED:ANGLE\u003e"`, Counts{"ANGLE": 1}},
		{"within another", "[REDACTED:REDACTED:KEY]", Counts{"KEY": 1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, r.MarksIn([]byte(tc.text))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.text, diff)
			}
		})
	}
	var none *Redactor
	if got := none.MarksIn([]byte("[REDACTED:KEY]")); len(got) > 0 {
		t.Errorf("without secrets there are %v", got)
	}
}

// However a stream is cut, the labels in it are as many as replacements were made.
func TestMarksOfStreams(t *testing.T) {
	t.Parallel()
	secrets := map[string]string{"A": "hunter2hunter2", "A_B": "correct horse", "LONG_ONE": "battery staple"}
	r := New(secrets)
	pieces := []string{"hunter2hunter2", "correct horse", "battery staple", "REDACTED:", "[REDACTED:A", "]", "R", "x", "\n", "_B", "[REDACTED:LONG_ONEX]"}
	rapid.Check(t, func(t *rapid.T) {
		var text bytes.Buffer
		for _, p := range rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 30).Draw(t, "pieces") {
			text.WriteString(p)
		}
		whole := r.MarksIn(text.Bytes())
		m := r.Marks()
		for rest := text.Bytes(); len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			if k, err := m.Write(rest[:n]); k != n || err != nil {
				t.Fatalf("took %d of %d, %v", k, n, err)
			}
			rest = rest[n:]
		}
		if diff := cmp.Diff(whole, m.Counts()); diff != "" {
			t.Fatalf("%q, cut (-whole +cut):\n%s", text.Bytes(), diff)
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		var text bytes.Buffer
		for _, p := range rapid.SliceOfN(rapid.SampledFrom([]string{"hunter2hunter2", "correct horse", "battery staple", "x", "\n", "A_B]"}), 0, 30).Draw(t, "pieces") {
			text.WriteString(p)
		}
		out, replaced := r.Redact(text.Bytes())
		if replaced == nil {
			replaced = Counts{}
		}
		if diff := cmp.Diff(replaced, r.Settle(nil, r.MarksIn(out))); diff != "" {
			t.Fatalf("%q became %q (-replaced +marks):\n%s", text.Bytes(), out, diff)
		}
	})
}

// A label that does not name its secret says nothing: there the replacements count.
func TestSettleWithoutNames(t *testing.T) {
	t.Parallel()
	r := New(map[string]string{"MY_TOKEN": "TOKEN", "OTHER": "hunter2hunter2"})
	out, replaced := r.Redact([]byte("TOKEN and hunter2hunter2 and hunter2hunter2"))
	if diff := cmp.Diff(Counts{"MY_TOKEN": 1, "OTHER": 2}, r.Settle(replaced, r.MarksIn(out))); diff != "" {
		t.Errorf("%s (-want +got):\n%s", out, diff)
	}
}
