package outcome

import (
	"fmt"
	"slices"

	"github.com/deedrun/deed/contract/homeboy"
)

// What may become of an answer. Its own size says little: every document of deed's is written line by line, and each
// element of a list that is nested 500 deep has a line of a thousand blanks.
const (
	MaxWritten = 48 << 20 // bytes of an outcome as it is written
	maxCopied  = 4 << 20  // bytes that have another name in addition to their own
	MaxListed  = 2000     // artifacts, and typed artifacts; more files than MaxFiles are not kept anyway
)

// written returns how long a JSON text is when it is written line by line, with what HTML reads as markup escaped.
func written(text []byte) int {
	n, level := 0, 2 // it is nested in other documents
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			end := stringEnd(text, i)
			n += escaped(text[i:end])
			i = end - 1
		case '{', '[':
			level++
			n += 2 + 2*level
		case ',':
			n += 2 + 2*level
		case '}', ']':
			level--
			n += 2 + 2*level
		case ':':
			n += 2
		case ' ', '\t', '\r', '\n':
		default:
			n++
		}
	}
	return n
}

// stringEnd returns where the string ends that begins at a quote.
func stringEnd(text []byte, begin int) int {
	for i := begin + 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

// escaped returns how long a text in quotes is at most when markup in it is escaped.
func escaped(text []byte) int {
	n := len(text)
	for _, c := range text {
		switch c {
		case '<', '>', '&':
			n += 5
		case 0xe2: // what begins a line separator
			n += 3
		}
	}
	return n
}

// bounded gives up what would be too much when it is written.
func (s reply) bounded() reply {
	n := written(plain(s.doc))
	for _, d := range s.docs {
		n += written(d)
	}
	if n <= MaxWritten {
		return s
	}
	return reply{kind: ReplyTooLarge, reason: fmt.Sprintf("it has %d bytes when it is written line by line (at most %d)", n, MaxWritten)}
}

// bound gives up an outcome that became too long after it was read: the replacement for a secret can be longer than the
// secret. text is the outcome.
func (a *Answer) bound(text []byte, most int) {
	n := written(text)
	if n <= most {
		return
	}
	row := rowOf(Exited, ReplyTooLarge)
	o := homeboy.Outcome{Schema: homeboy.SchemaOutcome, TaskID: a.Outcome.TaskID, Status: row.Status, FailureClassification: row.Class, Summary: row.Text}
	addDiagnostic(&o, row.Code, row.Text, map[string]any{"phase": row.Phase, "row": row.ID, "provider_status": a.Outcome.Status, "bytes": n, "most": most})
	refer(&o, row.Code)
	a.Outcome, a.Row = o, row.ID
}

// shorten leaves out what is listed beyond reason. It is still in the provider's document.
func shorten(o *homeboy.Outcome) (warnings []homeboy.Warning) {
	cut := func(name string, n int) {
		warnings = append(warnings, homeboy.Warning{Path: "$." + name, Code: homeboy.WarnDropped, Message: fmt.Sprintf("lists %d; those after the first %d are left out", n, MaxListed)})
	}
	if n := len(o.Artifacts); n > MaxListed {
		o.Artifacts = slices.Clone(o.Artifacts[:MaxListed])
		cut("artifacts", n)
	}
	if n := len(o.TypedArtifacts); n > MaxListed {
		o.TypedArtifacts = slices.Clone(o.TypedArtifacts[:MaxListed])
		cut("typed_artifacts", n)
	}
	return warnings
}

// copies bounds what a manifest lets deed write twice: it can name one output a thousand times.
type copies struct {
	left    int
	refused int
}

// take reports whether a value may be written once more.
func (c *copies) take(v homeboy.Value) bool {
	if c.left -= len(v); c.left < 0 {
		c.refused++
		return false
	}
	return true
}

func (c *copies) warnings() []homeboy.Warning {
	if c.refused == 0 {
		return nil
	}
	return []homeboy.Warning{{Path: "$", Code: homeboy.WarnDropped, Message: fmt.Sprintf("%d outputs have no other name beside their own: together they have more than %d bytes", c.refused, maxCopied)}}
}
