package brief

import (
	"errors"
	"slices"
)

// ErrMarks says that a brief exceeds its limit, or drops other parts, when marks replace the secrets.
var ErrMarks = errors.New("with marks in the place of secrets the brief would be another")

// Evidence returns the brief as evidence keeps it: compiled again from inputs in which redact replaced secrets by
// marks. So whoever has the document can reproduce it and its hash, which is the same for every value of the secret
// and reveals none. The text stays what the agent gets.
func (b Brief) Evidence(redact func(v any) error) (Brief, error) {
	d, err := Read(b.Document)
	if err != nil {
		return Brief{}, err
	}
	f := d.Inputs
	var before []string
	for _, t := range f.texts() {
		before = append(before, t.Text)
	}
	if err := redact(&f); err != nil {
		return Brief{}, err
	}
	for i, t := range f.texts() {
		t.marked(before[i])
	}
	kept, err := compile(f)
	if err != nil {
		return Brief{}, errors.Join(ErrMarks, err)
	}
	same := slices.EqualFunc(b.Dropped, kept.Dropped, func(x, y Drop) bool {
		return x.Section == y.Section && x.Name == y.Name && (x.Kept == 0) == (y.Kept == 0)
	})
	if !same {
		return Brief{}, ErrMarks
	}
	kept.Text = b.Text
	return kept, nil
}

// texts are the texts that have a length and a digest of their own.
func (f *frozen) texts() []*frozenText {
	out := []*frozenText{&f.Task.Payload}
	if f.Instructions != nil {
		out = append(out, &f.Instructions.Text)
	}
	for i := range f.Skills {
		out = append(out, &f.Skills[i].Body)
	}
	return out
}

// marked updates length and digest to those of the text with its marks. For a text that was cut, the digest covers a
// text that no longer exists anywhere.
func (t *frozenText) marked(before string) {
	if t.Text == before {
		return
	}
	if whole := t.Chars == runes(before); whole {
		t.Digest = textHash(t.Text)
	}
	t.Chars += runes(t.Text) - runes(before)
}
