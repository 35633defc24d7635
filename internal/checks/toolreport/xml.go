package toolreport

import (
	"bufio"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Bounds of an XML document.
const (
	MaxDepth = 256       // of nested elements
	MaxTag   = 1 << 20   // bytes of one tag with its attributes
	MaxText  = 128 << 10 // bytes of one run of text; what is longer is cut
)

// An XMLVisitor gets the elements of a document. If it returns an error, reading ends. Text comes in pieces, and is only valid
// during the call.
type XMLVisitor interface {
	Begin(e xml.StartElement) error
	Text(text []byte)
	End(name string) error
}

// ReadXML reads a report that a tool wrote. Tools copy what a test printed into it, so characters that XML does not know
// are replaced instead of refused; a run of text is cut at MaxText. More than MaxDepth nested elements, a tag of more than
// MaxTag bytes, a document type with declarations and an encoding that is neither UTF-8 nor Latin-1 are errors. Entities
// of the document's own are never expanded. An error of the document says where it is.
func ReadXML(r io.Reader, v XMLVisitor) error {
	d := xml.NewDecoder(&xmlFilter{in: bufio.NewReaderSize(r, 64<<10)})
	d.CharsetReader = charset
	for depth := 0; ; {
		token, err := d.RawToken()
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
			if depth == 0 {
				return nil
			}
		}
		if err == nil {
			switch t := token.(type) {
			case xml.StartElement:
				if depth++; depth > MaxDepth {
					err = fmt.Errorf("more than %d elements are nested", MaxDepth)
				} else {
					err = v.Begin(t)
				}
			case xml.EndElement:
				if depth--; depth < 0 {
					err = fmt.Errorf("</%s> ends nothing", t.Name.Local)
				} else {
					err = v.End(t.Name.Local)
				}
			case xml.CharData:
				v.Text(t)
			}
		}
		if err != nil {
			line, _ := d.InputPos()
			return fmt.Errorf("line %d: %w", line, err)
		}
	}
}

// Attr is the value of an attribute, empty when it is not there.
func Attr(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// charset is asked for every encoding but UTF-8.
func charset(label string, in io.Reader) (io.Reader, error) {
	switch strings.ToLower(label) {
	case "us-ascii", "ascii", "utf8":
		return in, nil
	case "iso-8859-1", "latin1", "latin-1", "windows-1252", "cp1252":
		// The filter has already made characters of the bytes that are no UTF-8.
		return in, nil
	}
	return nil, fmt.Errorf("encoding %q is not known: write the report in UTF-8", label)
}

// Where the filter is in the document.
type xmlPlace int

const (
	inText xmlPlace = iota
	inTag
	inComment
	inCDATA
	inInstruction
	inDoctype
)

// xmlFilter is the text of a document within its bounds.
type xmlFilter struct {
	in    *bufio.Reader
	out   []byte // made and not yet taken
	taken int
	place xmlPlace
	run   int  // bytes of the text or tag that the filter is in
	quote byte // of the attribute that it is in
	err   error
}

func (f *xmlFilter) Read(p []byte) (int, error) {
	for f.taken == len(f.out) {
		if f.err != nil {
			return 0, f.err
		}
		f.out, f.taken = f.out[:0], 0
		for len(f.out) < 16<<10 && f.err == nil {
			f.err = f.step()
		}
	}
	n := copy(p, f.out[f.taken:])
	f.taken += n
	return n, nil
}

// step filters the next characters, or the next mark that begins or ends something.
func (f *xmlFilter) step() error {
	if n := f.ordinary(); n > 0 {
		return f.copy(n)
	}
	r, size, err := f.in.ReadRune()
	if err != nil {
		return err
	}
	if r == utf8.RuneError && size == 1 {
		if err := f.in.UnreadRune(); err != nil {
			return err
		}
		b, err := f.in.ReadByte()
		if err != nil {
			return err
		}
		r = rune(b) // Latin-1, or an unknown character set
	}
	f.run++
	switch f.place {
	case inText:
		return f.text(r)
	case inTag:
		return f.tag(r)
	case inComment:
		f.until(r, "-->", false)
	case inCDATA:
		f.until(r, "]]>", true)
	case inInstruction:
		f.until(r, "?>", true)
	case inDoctype:
		return f.doctype(r)
	}
	return nil
}

// ordinary counts the bytes that come next, as far as they are there, and that mean nothing in any place.
func (f *xmlFilter) ordinary() int {
	ahead, _ := f.in.Peek(f.in.Buffered())
	for i, b := range ahead {
		switch {
		case b >= utf8.RuneSelf, b < ' ' && b != '\n' && b != '\t':
			return i
		}
		switch b {
		case '<', '>', '&', '"', '\'', '-', ']', '[', '?':
			return i
		}
	}
	return len(ahead)
}

// copy takes ordinary bytes over, as far as their place has room for them.
func (f *xmlFilter) copy(n int) error {
	ahead, _ := f.in.Peek(n)
	keep := n
	switch f.place {
	case inText, inCDATA, inInstruction:
		keep = max(0, min(n, MaxText-f.run))
	case inTag:
		if f.run+n > MaxTag {
			return errLongTag
		}
	case inComment, inDoctype:
		keep = 0
	}
	f.out = append(f.out, ahead[:keep]...)
	f.run += n
	_, err := f.in.Discard(n)
	return err
}

func (f *xmlFilter) text(r rune) error {
	switch {
	case r == '<':
		f.begin()
	case r == '&':
		f.reference()
	case f.run <= MaxText:
		f.put(r)
	}
	return nil
}

// begin looks at what a '<' begins.
func (f *xmlFilter) begin() {
	f.run = 0
	switch {
	case f.next("!--"):
		f.place = inComment
	case f.next("![CDATA["):
		f.place = inCDATA
		f.out = append(f.out, "<![CDATA["...)
	case f.next("!DOCTYPE"):
		f.place = inDoctype
	case f.next("?"):
		f.place = inInstruction
		f.out = append(f.out, "<?"...)
	default:
		f.place, f.quote = inTag, 0
		f.out = append(f.out, '<')
	}
}

// next takes a mark when it is what comes next.
func (f *xmlFilter) next(mark string) bool {
	ahead, _ := f.in.Peek(len(mark)) // shorter at the end of the document
	if string(ahead) != mark {
		return false
	}
	_, _ = f.in.Discard(len(mark))
	return true
}

var errLongTag = errors.New("a tag has more than " + strconv.Itoa(MaxTag) + " bytes")

func (f *xmlFilter) tag(r rune) error {
	if f.run > MaxTag {
		return errLongTag
	}
	switch {
	case r == '&':
		f.reference()
		return nil
	case f.quote != 0:
		if r == rune(f.quote) {
			f.quote = 0
		}
	case r == '"' || r == '\'':
		f.quote = byte(r)
	case r == '>':
		f.place, f.run = inText, 0
	}
	f.put(r)
	return nil
}

// until copies, or leaves out, everything before a mark. What is copied is cut at MaxText.
func (f *xmlFilter) until(r rune, mark string, keep bool) {
	if r == rune(mark[0]) && f.next(mark[1:]) {
		f.place, f.run = inText, 0
		if keep {
			f.out = append(f.out, mark...)
		}
		return
	}
	if keep && f.run <= MaxText {
		f.put(r)
	}
}

var errDoctype = errors.New("a document type with declarations is not read")

// doctype leaves a document type out. One with declarations is how a small document makes itself large.
func (f *xmlFilter) doctype(r rune) error {
	switch r {
	case '[':
		return errDoctype
	case '>':
		f.place, f.run = inText, 0
	}
	return nil
}

// reference copies a reference to a character or an entity. One to a character that XML does not know is replaced, and
// an entity that only a document type could have declared stays as the text that it is.
func (f *xmlFilter) reference() {
	ahead, _ := f.in.Peek(12) // shorter at the end of the document
	name, _, ok := strings.Cut(string(ahead), ";")
	r, number := characterOf(name)
	switch {
	case !ok, !number && !isEntity(name):
		f.out = append(f.out, "&amp;"...)
		return
	case number && !isMarkup(r):
		f.put(r)
	default:
		f.out = append(append(append(f.out, '&'), name...), ';')
	}
	_, _ = f.in.Discard(len(name) + 1)
}

// characterOf reads what stands between & and ; of a reference to a character.
func characterOf(name string) (rune, bool) {
	number, ok := strings.CutPrefix(name, "#")
	base := 10
	if hex, isHex := strings.CutPrefix(number, "x"); isHex {
		number, base = hex, 16
	}
	n, err := strconv.ParseUint(number, base, 21)
	return rune(n), ok && err == nil
}

// isMarkup tells a character that has to stay a reference.
func isMarkup(r rune) bool { return strings.ContainsRune("<>&\"'\n\r\t", r) }

func isEntity(name string) bool {
	switch name {
	case "lt", "gt", "amp", "quot", "apos":
		return true
	}
	return false
}

// put writes a character, or the mark for one that XML does not know.
func (f *xmlFilter) put(r rune) {
	switch {
	case r == '\t', r == '\n', r == '\r', r >= 0x20 && r <= 0xD7FF, r >= 0xE000 && r <= 0xFFFD, r >= 0x10000 && r <= 0x10FFFF:
	default:
		r = utf8.RuneError
	}
	f.out = utf8.AppendRune(f.out, r)
}
