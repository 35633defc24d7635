package finding

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/contract/runner"
)

// What a tool can make of its reader's memory.
const (
	maxBytes    = 512 << 20
	maxFindings = 1_000_000
	maxDepth    = 200 // of what a finding carries; no tool nests deeper
)

// ToolFingerprint is the key that keeps the fingerprint which a tool gave a finding: the field of that name is deed's own.
const ToolFingerprint = "tool_fingerprint"

// defaultTool is the tool of a finding that names none.
const defaultTool = "lint"

var bom = []byte("\uFEFF")

// Read reads an array of findings as lint runners write it, in both generations of the contract. Only the message is
// asked for. Keys without a field are kept as they came; `code` is the rule, `source` the tool, and an id of the usual
// forms says file, rule and line where nothing else does. Paths below root become relative to it. No input at all, or
// only white space, is no finding; a SARIF log is read as ReadSARIF does.
//
// The findings that could be read are returned with the error that names those that could not: every fault by its index
// in the array, as fault.Faults.
func Read(r io.Reader, root string) ([]runner.LintFinding, error) {
	return read(r, root, maxBytes, maxFindings)
}

func read(r io.Reader, root string, size int64, most int) ([]runner.LintFinding, error) {
	in := &capped{r: r, left: size}
	d := newReader(in, root)
	if d.dec.PeekKind() == '{' { // no array of findings, but perhaps a log
		return readSARIF(io.MultiReader(bytes.NewReader(d.dec.UnreadBuffer()), in), root, min(size, maxSARIF))
	}
	fs, err := d.findings(most)
	if in.over {
		return fs, tooLarge("$", fmt.Sprintf("is longer than %d MiB", size>>20))
	}
	return fs, err
}

func tooLarge(path, what string) error {
	return fault.Faults{{Path: path, Code: fault.OutOfRange, Message: what, Remedy: "narrow the run to fewer files or steps"}}
}

// capped is a reader that ends after so many bytes, and says so. It takes a byte order mark off the beginning.
type capped struct {
	r     io.Reader
	left  int64
	over  bool
	begun bool
}

func (c *capped) Read(p []byte) (int, error) {
	if !c.begun {
		c.begun = true
		head := make([]byte, len(bom))
		n, err := io.ReadFull(c.r, head)
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
			return 0, err
		}
		if head = head[:n]; !bytes.Equal(head, bom) {
			c.r = io.MultiReader(bytes.NewReader(head), c.r)
		}
	}
	if c.left <= 0 {
		c.over = true
		return 0, io.EOF
	}
	n, err := c.r.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
	return n, err
}

// A reader reads one array of findings.
type reader struct {
	dec    *jsontext.Decoder
	paths  paths
	words  map[string]string // texts that many findings share
	buf    []byte            // of a text with escapes
	faults fault.List
	index  int
}

func newReader(r io.Reader, root string) *reader {
	return &reader{
		dec:   jsontext.NewDecoder(r, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)),
		paths: newPaths(root),
		words: make(map[string]string, 256),
	}
}

func (d *reader) findings(most int) ([]runner.LintFinding, error) {
	tok, err := d.dec.ReadToken()
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	if err != nil {
		return nil, d.broken(err)
	}
	if tok.Kind() != '[' {
		return nil, fault.Faults{{Path: "$", Code: fault.WrongType, Message: "is " + kindName(tok.Kind()) + ", not an array of findings"}}
	}
	fs, err := d.items(most)
	return fs.joined(), err
}

// chunked is a list that grows without copying: a finding is a large value, and there may be very many.
type chunked struct {
	full [][]runner.LintFinding
	last []runner.LintFinding
	n    int
}

const chunk = 1024

func (c *chunked) add(f runner.LintFinding) {
	if len(c.last) == cap(c.last) && c.n >= chunk {
		c.full, c.last = append(c.full, c.last), make([]runner.LintFinding, 0, chunk)
	}
	c.last = append(c.last, f)
	c.n++
}

func (c *chunked) joined() []runner.LintFinding {
	if len(c.full) == 0 {
		return c.last
	}
	all := make([]runner.LintFinding, 0, c.n)
	for _, part := range c.full {
		all = append(all, part...)
	}
	return append(all, c.last...)
}

// items reads what stands in the array.
func (d *reader) items(most int) (fs chunked, err error) {
	for ; ; d.index++ {
		switch kind := d.dec.PeekKind(); {
		case kind == ']':
			if _, err := d.dec.ReadToken(); err != nil {
				return fs, d.broken(err)
			}
			return fs, d.end()
		case kind == '{' && fs.n == most:
			return fs, tooLarge("$", fmt.Sprintf("has more than %d findings", most))
		case kind == '{':
			f, ok, err := d.finding()
			if err != nil {
				return fs, d.broken(err)
			}
			if ok {
				fs.add(f)
			}
		default:
			if _, err := d.dec.ReadValue(); err != nil { // also what is no JSON
				return fs, d.broken(err)
			}
			d.wrong("", kind, "a finding is an object")
		}
	}
}

// end sees that nothing follows, and tells the faults of single findings.
func (d *reader) end() error {
	if _, err := d.dec.ReadToken(); !errors.Is(err, io.EOF) {
		d.faults.Add("$", fault.TrailingData, "has more after the array", "")
	}
	return d.faults.Err()
}

// broken is the error for what cannot be read on, with the faults that were found before.
func (d *reader) broken(err error) error {
	var syntax *jsontext.SyntacticError
	message := err.Error()
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		message = "ends in the middle: the tool that wrote it did not come to its end"
	case errors.As(err, &syntax):
		message = fmt.Sprintf("is no JSON at byte %d: %v", syntax.ByteOffset, syntax.Err)
	}
	d.faults.Add(d.path(""), fault.InvalidJSON, message, "")
	return d.faults.Err()
}

func (d *reader) path(key string) string {
	path := "$[" + strconv.Itoa(d.index) + "]"
	if key != "" {
		path += "." + key
	}
	return path
}

func (d *reader) wrong(key string, kind jsontext.Kind, want string) {
	d.faults.Add(d.path(key), fault.WrongType, "is "+kindName(kind)+", and "+want, "")
}

func kindName(k jsontext.Kind) string {
	switch k {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case 't', 'f':
		return "a boolean"
	}
	return "null"
}

// A draft is a finding with the texts that its fields fall back on.
type draft struct {
	runner.LintFinding
	message         bool // there is one
	code, source    string
	alias           string // the file by another name
	toolFingerprint string
	faults          bool // it is no finding
}

// finding reads one object; false when it is no finding, which the faults say.
func (d *reader) finding() (f runner.LintFinding, ok bool, err error) {
	if _, err = d.dec.ReadToken(); err != nil {
		return f, false, err
	}
	var w draft
	for d.dec.PeekKind() != '}' {
		raw, err := d.dec.ReadValue()
		if err != nil {
			return f, false, err
		}
		key := d.word(raw)
		value, err := d.dec.ReadValue()
		if err != nil {
			return f, false, err
		}
		d.member(&w, key, value)
	}
	if _, err = d.dec.ReadToken(); err != nil {
		return f, false, err
	}
	if !w.message && !w.faults {
		d.faults.Add(d.path("message"), fault.MissingField, "is missing", "a finding says what is wrong")
		w.faults = true
	}
	d.complete(&w)
	return w.LintFinding, !w.faults, nil
}

// member takes one member of a finding. What has a field and is null is absent.
func (d *reader) member(w *draft, key string, v jsontext.Value) {
	switch key {
	case "id":
		w.ID = d.text(w, key, v, false)
	case "message":
		if w.message = v.Kind() != 'n'; w.message {
			w.Message = d.text(w, key, v, false)
		}
	case "category":
		w.Category = d.text(w, key, v, true)
	case "tool":
		w.Tool = d.text(w, key, v, true)
	case "rule":
		w.Rule = d.text(w, key, v, true)
	case "file":
		w.File = d.text(w, key, v, true)
	case "severity":
		w.Severity = d.severity(w, v)
	case "line":
		w.Line = d.number(w, key, v)
	case "column":
		w.Column = d.number(w, key, v)
	case "fixable":
		w.Fixable = d.truth(w, key, v)
	case "fingerprint":
		w.toolFingerprint = d.text(w, key, v, false)
	case "known": // is for deed to say
	default:
		d.other(w, key, v)
	}
}

// other keeps a member without a field, and looks whether a field can fall back on it.
func (d *reader) other(w *draft, key string, v jsontext.Value) {
	switch kind := v.Kind(); {
	case key == "code" && (kind == '"' || kind == '0'):
		w.code = d.text(w, key, v, true)
	case key == "source" && kind == '"':
		w.source = d.word(v)
	case key == "source" && kind == '{':
		w.source = d.kindOf(v)
	case (key == "file_path" || key == "path" || key == "filename") && kind == '"':
		w.alias = d.word(v)
	case (key == "line_number" || key == "start_line") && w.Line == 0:
		w.Line = d.number(w, key, v)
	case (key == "col" || key == "start_column") && w.Column == 0:
		w.Column = d.number(w, key, v)
	}
	if tooDeep(v) { // it could not be written again
		d.faults.Add(d.path(key), fault.OutOfRange, fmt.Sprintf("is nested deeper than %d levels", maxDepth), "")
		w.faults = true
		return
	}
	if w.Extra == nil {
		w.Extra = make(map[string]rawMessage, 4)
	}
	w.Extra[key] = keep(v)
}

func tooDeep(v jsontext.Value) bool {
	if len(v) < 2*maxDepth || v.Kind() == '"' {
		return false
	}
	dec := jsontext.NewDecoder(bytes.NewReader(v), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for dec.StackDepth() <= maxDepth {
		if _, err := dec.ReadToken(); err != nil {
			return false
		}
	}
	return true
}

// keep copies a value, which belongs to the decoder. What the tool wrote may be no UTF-8; what deed tells again is.
func keep(v jsontext.Value) rawMessage {
	if utf8.Valid(v) {
		return rawMessage(bytes.Clone(v))
	}
	return rawMessage(bytes.ToValidUTF8(v, []byte("\uFFFD")))
}

// kindOf returns the member `kind` of an object.
func (d *reader) kindOf(object jsontext.Value) string {
	dec := jsontext.NewDecoder(bytes.NewReader(object), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if _, err := dec.ReadToken(); err != nil {
		return ""
	}
	for dec.PeekKind() == '"' {
		key, err := dec.ReadToken()
		if err != nil {
			return ""
		}
		is := key.String() == "kind"
		value, err := dec.ReadValue()
		if err != nil {
			return ""
		}
		if is && value.Kind() == '"' {
			return d.word(value)
		}
	}
	return ""
}

// text reads a string, and a number as it is written.
func (d *reader) text(w *draft, key string, v jsontext.Value, shared bool) string {
	switch v.Kind() {
	case '"':
		if shared {
			return d.word(v)
		}
		return string(d.unquoted(v))
	case '0':
		return string(v)
	case 'n':
		return ""
	}
	d.wrong(key, v.Kind(), "a string is expected")
	w.faults = true
	return ""
}

// severity reads a string, or the numbers of ESLint.
func (d *reader) severity(w *draft, v jsontext.Value) string {
	switch s := d.text(w, "severity", v, true); s {
	case "1":
		return "warning"
	case "2":
		return "error"
	default:
		return s
	}
}

// number reads a line or a column, also one that was written as a string. Tools write 0 and less for the whole file.
func (d *reader) number(w *draft, key string, v jsontext.Value) int {
	text := []byte(v)
	switch v.Kind() {
	case 'n':
		return 0
	case '"':
		if text = bytes.TrimSpace(d.unquoted(v)); len(text) == 0 {
			return 0
		}
	case '0':
	default:
		d.wrong(key, v.Kind(), "a whole number is expected")
		w.faults = true
		return 0
	}
	n, ok := digits(text)
	if !ok {
		x, err := strconv.ParseFloat(string(text), 64)
		if n = int64(x); err != nil || float64(n) != x || n > 1<<31-1 {
			d.faults.Add(d.path(key), fault.OutOfRange, "is "+string(text[:min(len(text), 40)])+", not a whole number below 2^31", "")
			w.faults = true
			return 0
		}
	}
	return int(max(n, 0))
}

// digits reads a short row of digits, which nearly every number here is.
func digits[T string | []byte](text T) (n int64, ok bool) {
	if len(text) == 0 || len(text) > 9 {
		return 0, false
	}
	for i := range len(text) {
		c := text[i]
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}

// truth reads a boolean, and what tools write for one.
func (d *reader) truth(w *draft, key string, v jsontext.Value) bool {
	switch string(bytes.Trim(v, `"`)) {
	case "true", "1":
		return true
	case "false", "0", "null", "":
		return false
	}
	d.wrong(key, v.Kind(), "true or false is expected")
	w.faults = true
	return false
}

// unquoted returns the bytes of a string; they are good until the next call.
func (d *reader) unquoted(v jsontext.Value) []byte {
	inner := v[1 : len(v)-1]
	if bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return inner
	}
	d.buf, _ = jsontext.AppendUnquote(d.buf[:0], v) // what is no UTF-8 is replaced
	return d.buf
}

// maxWords bounds the texts that are held to be shared.
const maxWords = 1 << 16

// word returns a text that is likely to come again, once.
func (d *reader) word(v jsontext.Value) string {
	b := d.unquoted(v)
	if s, ok := d.words[string(b)]; ok {
		return s
	}
	s := string(b)
	if len(d.words) < maxWords {
		d.words[s] = s
	}
	return s
}

// complete fills what other members say.
func (d *reader) complete(w *draft) {
	if w.File == "" {
		w.File = w.alias
	}
	if w.Rule == "" {
		w.Rule = w.code
	}
	if w.ID == "" {
		w.ID = w.toolFingerprint
	}
	var named place
	if w.File == "" || w.Rule == "" || w.Line == 0 || w.Tool == "" {
		named = parseID(w.ID)
	}
	if w.File == "" {
		w.File = named.file
	}
	w.File = d.paths.relative(w.File)
	if w.Rule == "" {
		w.Rule = named.rule
	}
	if w.Line == 0 && named.file != "" && d.paths.relative(named.file) == w.File {
		w.Line, w.Column = named.line, max(w.Column, named.column)
	}
	for _, tool := range []string{w.source, named.tool, w.code, defaultTool} {
		if w.Tool == "" {
			w.Tool = tool
		}
	}
	if w.toolFingerprint != "" {
		if w.Extra == nil {
			w.Extra = make(map[string]rawMessage, 1)
		}
		w.Extra[ToolFingerprint] = quote(w.toolFingerprint)
	}
}

// IDs returns the identities of a finding for a baseline: the one that its tool gives it, or the message where it gives
// none, and another one that it may have given as well.
func IDs(f *runner.LintFinding) (id, also string) {
	if text, ok := f.Extra[ToolFingerprint]; ok {
		if b, err := jsontext.AppendUnquote(nil, text); err == nil {
			also = string(b)
		}
	}
	switch {
	case f.ID == "":
		return f.Message, also
	case also == f.ID:
		return f.ID, ""
	}
	return f.ID, also
}
