package outcome

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/deedrun/deed/contract/homeboy"
)

// What an outcome may be at most. A larger answer is kept as evidence and not taken apart.
const (
	MaxDocument = 16 << 20
	MaxDepth    = 500
)

// A reply is what standard output held: one document, several, or why there is none.
type reply struct {
	kind   ReplyKind
	doc    []byte                   // one JSON object, as it was written
	taken  map[string]homeboy.Value // the members of doc, with what the manifest says where to find
	noise  bool                     // other text stood around doc
	docs   [][]byte                 // outcomes, where there are several
	reason string
}

var bom = []byte("\xef\xbb\xbf")

// readReply looks for the outcome of a task on standard output. A document that stands alone is taken for one whatever
// it says, and is read tolerantly. Among other text only an object counts that begins and ends its line, names the
// schema and names the task: an agent's chatter can hold anything.
func readReply(f Facts, taskID string) reply {
	if f.Dropped > 0 {
		return reply{kind: ReplyCut, reason: fmt.Sprintf("%d bytes were not kept", f.Dropped)}
	}
	if f.StdoutSize > MaxDocument {
		return reply{kind: ReplyTooLarge, reason: fmt.Sprintf("it has %d bytes (at most %d)", f.StdoutSize, MaxDocument)}
	}
	if f.Stdout == nil || f.StdoutSize <= 0 {
		return reply{kind: ReplyNothing}
	}
	text := make([]byte, f.StdoutSize)
	if n, err := f.Stdout.ReadAt(text, 0); n < len(text) {
		if err == nil || errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return reply{kind: ReplyGarbage, reason: "it cannot be read: " + err.Error()}
	}
	return parseReply(text, taskID).bounded()
}

func parseReply(text []byte, taskID string) reply {
	bare := plain(text)
	switch {
	case len(bare) == 0:
		return reply{kind: ReplyNothing}
	case (bare[0] == '{' || bare[0] == '[') && tooDeep(bare):
		return reply{kind: ReplyTooDeep, reason: fmt.Sprintf("it is nested deeper than %d", MaxDepth)}
	case !json.Valid(bare):
		return among(bare, taskID)
	case bare[0] != '{':
		return reply{kind: ReplyNotObject}
	}
	return reply{kind: ReplySuccess, doc: text}
}

// plain returns a text without a byte order mark, white space around it and bytes that are no characters.
func plain(text []byte) []byte {
	text = bytes.TrimPrefix(text, bom)
	if !utf8.Valid(text) {
		text = bytes.ToValidUTF8(text, []byte("\uFFFD"))
	}
	return bytes.TrimSpace(text)
}

// among looks for one outcome among other text.
func among(text []byte, taskID string) reply {
	found, whole := outcomesIn(text)
	switch {
	case !whole:
		return reply{kind: ReplyGarbage, reason: "too much in it looks like JSON and is not"}
	case len(found) == 0:
		return reply{kind: ReplyGarbage, reason: why(text)}
	case len(found) > 1:
		return reply{kind: ReplySeveral, docs: found, reason: fmt.Sprintf("%d outcomes", len(found))}
	}
	said, _ := object(found[0])
	if id, ok := said["task_id"].Text(); !ok || id != taskID {
		return reply{kind: ReplyGarbage, reason: "the outcome in it does not name this task"}
	}
	return reply{kind: ReplyRecovered, doc: found[0], noise: true}
}

// outcomesIn returns the objects of the outcome's schema that begin and end their line, or follow one another on it. What
// is inside another JSON value is not looked at. whole is false when the work would be more than a few readings.
func outcomesIn(text []byte) (found [][]byte, whole bool) {
	budget := 4*len(text) + 64<<10
	for at := 0; at < len(text); {
		at += blank(text[at:])
		if at < len(text) && (text[at] == '{' || text[at] == '[') {
			n, cost := jsonValue(text[at:])
			if budget -= cost; budget < 0 {
				return nil, false
			}
			if n > 0 {
				value := text[at : at+n]
				at += n
				if ends(text[at:]) && isOutcome(value) {
					found = append(found, value)
				}
				if next := at + blank(text[at:]); next < len(text) && text[next] == '{' {
					at = next
					continue
				}
			}
		}
		line := bytes.IndexByte(text[at:], '\n')
		if line < 0 {
			break
		}
		at += line + 1
	}
	return found, true
}

// blank returns how many white characters a text begins with.
func blank(text []byte) int { return len(text) - len(bytes.TrimLeft(text, " \t\r\n")) }

// ends reports whether a line is over, or another object follows.
func ends(rest []byte) bool {
	rest = bytes.TrimLeft(rest, " \t\r")
	return len(rest) == 0 || rest[0] == '\n' || rest[0] == '{'
}

// jsonValue returns the length of the JSON value that a text begins with, 0 if it does not, and what finding out cost.
func jsonValue(text []byte) (n, cost int) {
	d := json.NewDecoder(bytes.NewReader(text))
	var raw json.RawMessage
	err := d.Decode(&raw)
	if err == nil && !tooDeep(raw) {
		n = int(d.InputOffset())
		return n, n
	}
	var bad *json.SyntaxError
	if errors.As(err, &bad) {
		return 0, int(bad.Offset) + 1
	}
	return 0, len(text)
}

func isOutcome(value []byte) bool {
	members, _ := object(value)
	id, _ := members["schema"].Text()
	return id == homeboy.SchemaOutcome
}

// why says where a text stops being JSON.
func why(text []byte) string {
	var v json.RawMessage
	d := json.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(&v); err != nil {
		return err.Error()
	}
	return fmt.Sprintf("more follows the first value, which ends at byte %d", d.InputOffset())
}

// tooDeep reports whether brackets outside of strings are nested deeper than MaxDepth.
func tooDeep(text []byte) bool {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			if depth++; depth > MaxDepth {
				return true
			}
		case '}', ']':
			depth--
		}
	}
	return false
}
