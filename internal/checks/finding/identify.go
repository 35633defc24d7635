package finding

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/deedrun/deed/contract/runner"
)

// maxLine is how much of a source line is part of an identity. Generated files have lines of megabytes.
const maxLine = 4 << 10

// A digest stands for all that two findings have in common when no place tells them apart.
type digest [16]byte

// Identify gives each finding deed's own fingerprint: a digest of its file, its rule, its message without positions and
// the text of its source line, and a number among those that are alike in all of that. It stays when lines are moved,
// when the directory is, and when a tool changes the form of its ids. read returns a file below root by the path that
// the finding has; a file that it cannot return counts as empty, and read may be nil.
func Identify(fs []runner.LintFinding, root string, read func(path string) ([]byte, error)) {
	if read == nil {
		read = func(string) ([]byte, error) { return nil, nil }
	}
	h := hasher{paths: newPaths(root)}
	digests := make([]digest, len(fs))
	for file, members := range byFile(fs) {
		var src source
		if filepath.IsLocal(file) { // not below root: must not be read
			src.text, _ = read(file)
		}
		for _, i := range members {
			f := &fs[i]
			digests[i] = h.digest(f, src.line(f.Line))
		}
	}
	assign(fs, digests)
}

// byFile returns the indices of findings by their file, each list in order.
func byFile(fs []runner.LintFinding) map[string][]int32 {
	files := map[string][]int32{}
	for start := 0; start < len(fs); { // findings of one file mostly come together
		end := start + 1
		for end < len(fs) && fs[end].File == fs[start].File {
			end++
		}
		list := slices.Grow(files[fs[start].File], end-start)
		for i := start; i < end; i++ {
			list = append(list, int32(i))
		}
		files[fs[start].File] = list
		start = end
	}
	return files
}

// assign writes the fingerprints. Among findings that are alike the order is that of their places, so that it does not
// depend on the order in which a tool tells them.
func assign(fs []runner.LintFinding, digests []digest) {
	count := make(map[digest]int32, len(fs))
	for _, d := range digests {
		count[d]++
	}
	text := make([]byte, 0, len(fs)*hex.EncodedLen(len(digest{})))
	for _, d := range digests {
		text = hex.AppendEncode(text, d[:])
	}
	all, size := string(text), hex.EncodedLen(len(digest{}))
	for i := range fs {
		fs[i].Fingerprint = all[i*size : (i+1)*size]
	}
	if len(count) < len(fs) {
		number(fs, digests, count)
	}
}

// number tells findings apart that are alike: the first keeps its digest, the second ends in -2.
func number(fs []runner.LintFinding, digests []digest, count map[digest]int32) {
	var alike []int32
	for i, d := range digests {
		if count[d] > 1 {
			alike = append(alike, int32(i))
		}
	}
	slices.SortStableFunc(alike, func(a, b int32) int {
		if c := bytes.Compare(digests[a][:], digests[b][:]); c != 0 {
			return c
		}
		if fs[a].Line != fs[b].Line {
			return fs[a].Line - fs[b].Line
		}
		return fs[a].Column - fs[b].Column
	})
	n := 1
	for at, i := range alike {
		if n++; at == 0 || digests[alike[at-1]] != digests[i] {
			n = 1
		}
		if n > 1 {
			fs[i].Fingerprint += "-" + strconv.Itoa(n)
		}
	}
}

// A source is the text of one file, with the beginnings of those lines that were asked for.
type source struct {
	text   []byte
	starts []int // starts[n-1] is where line n begins
	whole  bool  // the last line is among them
}

// line returns a line by its number from 1, or nothing.
func (s *source) line(n int) []byte {
	if n <= 0 || len(s.text) == 0 {
		return nil
	}
	if len(s.starts) == 0 {
		s.starts = append(s.starts, 0)
	}
	for len(s.starts) < n && !s.whole {
		last := s.starts[len(s.starts)-1]
		end := bytes.IndexByte(s.text[last:], '\n')
		if end < 0 {
			s.whole = true
			break
		}
		s.starts = append(s.starts, last+end+1)
	}
	if n > len(s.starts) {
		return nil
	}
	text := s.text[s.starts[n-1]:]
	text = text[:min(len(text), maxLine)]
	if end := bytes.IndexByte(text, '\n'); end >= 0 {
		text = text[:end]
	}
	return text
}

// A hasher makes digests. Its buffer is used again and again.
type hasher struct {
	paths paths
	buf   []byte
}

func (h *hasher) digest(f *runner.LintFinding, line []byte) digest {
	b := append(h.buf[:0], "deed/finding/v1\x00"...)
	b = part(b, func(b []byte) []byte { return append(b, f.File...) })
	b = part(b, func(b []byte) []byte { return append(b, f.Rule...) })
	b = part(b, func(b []byte) []byte { return h.message(b, f.Message) })
	b = part(b, func(b []byte) []byte { return collapse(b, line) })
	h.buf = b
	sum := sha256.Sum256(b)
	return digest(sum[:len(digest{})])
}

// part appends what fill appends, with its length in front: no two lists of parts make the same bytes.
func part(b []byte, fill func([]byte) []byte) []byte {
	at := len(b)
	b = fill(append(b, 0, 0, 0, 0))
	binary.LittleEndian.PutUint32(b[at:], uint32(len(b)-at-4))
	return b
}

// collapse appends a text with each run of white space as one blank, and none around it.
func collapse[T string | []byte](b []byte, text T) []byte {
	start := len(b)
	blank := false
	for i := range len(text) {
		c := text[i]
		if c == ' ' || c >= '\t' && c <= '\r' {
			blank = true
			continue
		}
		if blank && len(b) > start {
			b = append(b, ' ')
		}
		blank = false
		b = append(b, c)
	}
	return b
}

// message appends a message without what changes when lines move or the directory does: white space, the component's own
// path, line and column numbers, addresses in memory. Other numbers stay: a limit that is broken by more is another finding.
func (h *hasher) message(b []byte, text string) []byte {
	for _, root := range h.paths.roots {
		if strings.Contains(text, root) {
			text = strings.ReplaceAll(text, root, "")
		}
	}
	start := len(b)
	b = collapse(b, text)
	if bytes.ContainsAny(b[start:], "0123456789") {
		b = append(b[:start], maskPositions(b[start:])...)
	}
	return b
}

// maskPositions writes # for each number that says where something is. It works in place: what it writes is never longer.
func maskPositions(b []byte) []byte {
	out := b[:0]
	position := false // the number before was one, and `:7` or `-9` go on with it
	for i := 0; i < len(b); {
		if b[i] < '0' || b[i] > '9' {
			position = position && (b[i] == ':' || b[i] == '-' || b[i] == ',')
			out = append(out, b[i])
			i++
			continue
		}
		end := i
		for end < len(b) && b[end] >= '0' && b[end] <= '9' {
			end++
		}
		switch {
		case b[i] == '0' && end == i+1 && end < len(b) && b[end] == 'x':
			for end++; end < len(b) && isHex(b[end]); end++ {
			}
			out = append(out, '#')
		case position || afterPlace(out):
			position = true
			out = append(out, '#')
		default:
			out = append(out, b[i:end]...)
		}
		i = end
	}
	return out
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// afterPlace reports whether a number at the end of this text is one of a line or a column.
func afterPlace(text []byte) bool {
	n := len(text)
	if n >= 2 && (text[n-1] == ':' || text[n-1] == '(') && text[n-2] != ' ' { // a.go:7, a.ts(7
		return true
	}
	if n == 0 || text[n-1] != ' ' {
		return false
	}
	word := text[bytes.LastIndexByte(text[:n-1], ' ')+1 : n-1]
	for _, name := range [...]string{"line", "lines", "column", "col", "offset", "position"} {
		if bytes.EqualFold(bytes.Trim(word, "(["), []byte(name)) {
			return true
		}
	}
	return false
}
