package brief

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
)

// ErrVersion says that a document has another layout than this version of deed writes.
var ErrVersion = errors.New("the brief has another layout than this version of deed writes")

// Read reads a document. It does not verify that the document is the one that was hashed; see Hash.
func Read(doc []byte) (Document, error) {
	var v struct {
		Version string `json:"version"`
	}
	if err := json.Unmarshal(doc, &v); err != nil {
		return Document{}, fmt.Errorf("read the brief: %w", err)
	}
	if v.Version != Version {
		return Document{}, fmt.Errorf("it is %q, not %s: %w", v.Version, Version, ErrVersion)
	}
	var d Document
	if err := json.Unmarshal(doc, &d); err != nil {
		return Document{}, fmt.Errorf("read the brief: %w", err)
	}
	return d, nil
}

// Again compiles a brief again from the inputs that its document froze.
func Again(d Document) (Brief, error) { return compile(d.Inputs) }

// Text is the text of one part.
func (d Document) Text(p Part) string {
	rest := d.Prompt[len(head(d.Prompt, p.At)):]
	return head(rest, p.Chars)
}

// sectionTexts returns the texts by section, lists joined, and the sections in order.
func (d Document) sectionTexts() (names []string, texts map[string]string) {
	texts = map[string]string{}
	for _, p := range d.Sections {
		if !slices.Contains(names, p.Section) {
			names = append(names, p.Section)
		}
		texts[p.Section] += d.Text(p) + "\n"
	}
	return names, texts
}

// How a section differs from one brief to another.
const (
	Added   = "added"
	Removed = "removed"
	Changed = "changed"
)

// A Difference is what distinguishes two briefs.
type Difference struct {
	Sections []SectionDifference `json:"sections"`
	Inputs   []InputDifference   `json:"inputs"` // and what was derived from them
}

// Same reports whether there is none.
func (d Difference) Same() bool { return len(d.Sections) == 0 && len(d.Inputs) == 0 }

// A SectionDifference is a section whose text differs.
type SectionDifference struct {
	Section string `json:"section"`
	Change  string `json:"change"`
	Diff    string `json:"diff"` // by lines, in the unified form
}

// An InputDifference is a member of the document; null: it is not there.
type InputDifference struct {
	Path string          `json:"path"`
	A    json.RawMessage `json:"a"`
	B    json.RawMessage `json:"b"`
}

// Compare returns what differs from one brief to another, first as the agent reads it, then input by input.
func Compare(a, b Document) (Difference, error) {
	out := Difference{Sections: []SectionDifference{}, Inputs: []InputDifference{}}
	names, before := a.sectionTexts()
	more, after := b.sectionTexts()
	for _, n := range more {
		if !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	for _, r := range Order { // in the order of the text
		if !slices.Contains(names, r.Name) || before[r.Name] == after[r.Name] {
			continue
		}
		s := SectionDifference{Section: r.Name, Change: Changed, Diff: lines(before[r.Name], after[r.Name])}
		switch {
		case before[r.Name] == "":
			s.Change = Added
		case after[r.Name] == "":
			s.Change = Removed
		}
		out.Sections = append(out.Sections, s)
	}
	x, err := leaves(a)
	if err != nil {
		return out, err
	}
	y, err := leaves(b)
	if err != nil {
		return out, err
	}
	for _, path := range union(x, y) {
		if !bytes.Equal(x[path], y[path]) {
			out.Inputs = append(out.Inputs, InputDifference{path, orNull(x[path]), orNull(y[path])})
		}
	}
	return out, nil
}

// lines is a unified diff by lines, without file names.
func lines(a, b string) string {
	text := string(diff.Diff("a", []byte(a), "b", []byte(b)))
	if _, rest, ok := strings.Cut(text, "+++ b\n"); ok {
		return rest
	}
	return text
}

// leaves lists the members of a document by path, without the prompt and its sections: those are compared as text.
func leaves(d Document) (map[string]json.RawMessage, error) {
	d.Prompt, d.Sections = "", nil
	raw, err := json.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("compare briefs: %w", err)
	}
	out := map[string]json.RawMessage{}
	return out, flatten("$", raw, out)
}

func flatten(path string, raw json.RawMessage, out map[string]json.RawMessage) error {
	switch raw[0] {
	case '{':
		var m map[string]json.RawMessage
		if err := json.Unmarshal(raw, &m); err != nil {
			return fmt.Errorf("compare briefs at %s: %w", path, err)
		}
		for k, v := range m {
			if err := flatten(path+"."+k, v, out); err != nil {
				return err
			}
		}
	case '[':
		var l []json.RawMessage
		if err := json.Unmarshal(raw, &l); err != nil {
			return fmt.Errorf("compare briefs at %s: %w", path, err)
		}
		for i, v := range l {
			if err := flatten(fmt.Sprintf("%s[%d]", path, i), v, out); err != nil {
				return err
			}
		}
	default:
		out[path] = raw
	}
	return nil
}

func union(a, b map[string]json.RawMessage) []string {
	var out []string
	for k := range a {
		out = append(out, k)
	}
	for k := range b {
		out = append(out, k)
	}
	return sorted(out)
}

func orNull(raw json.RawMessage) json.RawMessage {
	if raw == nil {
		return json.RawMessage("null")
	}
	return raw
}
