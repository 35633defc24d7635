package coverage

import (
	"fmt"
	"go/scanner"
	"go/token"
	"io"
	"path"
	"strconv"
	"strings"

	"github.com/deedrun/deed/internal/checks/toolreport"
)

// readLCOV reads records from SF to end_of_record. The same file may have several, one for each run.
func (b *builder) readLCOV(r io.Reader) error {
	var f *file
	functions := map[string]bool{} // of the record: whether they were run
	end := func() {
		if f != nil && f.methods.total == 0 {
			for _, run := range functions {
				f.methods.add(run)
			}
		}
		f = nil
		clear(functions)
	}
	number := 0
	for line, err := range toolreport.Lines(r) {
		if err != nil {
			return err
		}
		number++
		key, value, _ := strings.Cut(strings.TrimSpace(string(line)), ":")
		if key == "SF" {
			end()
			if f, err = b.file(value); err != nil {
				return err
			}
			continue
		}
		if f == nil {
			continue
		}
		switch key {
		case "DA":
			parts := strings.Split(value, ",")
			n, err := strconv.Atoi(parts[0])
			if err != nil || len(parts) < 2 {
				return fmt.Errorf("line %d: DA:%s is not DA:<line>,<times>", number, value)
			}
			if err := b.hit(f, n, times(parts[1])); err != nil {
				return err
			}
		case "FN":
			if _, name, ok := strings.Cut(value, ","); ok && len(functions) < MaxLines {
				functions[functionName(name)] = false
			}
		case "FNDA":
			if n, name, ok := strings.Cut(value, ","); ok {
				functions[name] = functions[name] || times(n) > 0
			}
		case "end_of_record":
			end()
		}
	}
	end()
	return nil
}

// functionName leaves out the last line of a function, which newer writers put before the name.
func functionName(text string) string {
	first, rest, ok := strings.Cut(text, ",")
	if _, err := strconv.Atoi(first); ok && err == nil {
		return rest
	}
	return text
}

// readGo reads a profile of go test. Its blocks count statements, and so do the sums, as go tool cover does; by line a
// block covers those of its lines that have code.
func (b *builder) readGo(r io.Reader) error {
	modules := GoModules(b.paths)
	blocks := map[string]map[string]goBlock{} // by file and position: packages that are tested together each list a block
	number := 0
	for line, err := range toolreport.Lines(r) {
		if err != nil {
			return err
		}
		number++
		text := strings.TrimSpace(string(line))
		if text == "" || strings.HasPrefix(text, "mode: ") {
			continue
		}
		name, place, block, ok := goLine(text)
		if !ok {
			return fmt.Errorf("line %d: %q is not <file>:<line>.<column>,<line>.<column> <statements> <times>", number, text)
		}
		if blocks[name] == nil {
			blocks[name] = map[string]goBlock{}
		}
		if so, again := blocks[name][place]; again {
			block.times = max(block.times, so.times)
		} else if b.lines++; b.lines > MaxLines {
			return fmt.Errorf("%w: more than %d blocks", ErrTooLarge, MaxLines)
		}
		blocks[name][place] = block
	}
	b.lines = 0
	for name, of := range blocks {
		if err := b.goFile(modules, name, of); err != nil {
			return err
		}
	}
	return nil
}

type goBlock struct{ first, last, statements, times int }

// goLine splits a line of a profile. A file may have colons and blanks in its name.
func goLine(text string) (name, place string, block goBlock, ok bool) {
	colon := strings.LastIndexByte(text, ':')
	if colon <= 0 {
		return "", "", goBlock{}, false
	}
	name = text[:colon]
	words := strings.Fields(text[colon+1:])
	if len(words) != 3 {
		return "", "", goBlock{}, false
	}
	place = words[0]
	from, to, _ := strings.Cut(place, ",")
	var errs [3]error
	block.first, errs[0] = position(from)
	block.last, errs[1] = position(to)
	block.statements, errs[2] = strconv.Atoi(words[1])
	block.times = times(words[2])
	ok = errs == [3]error{} && block.first >= 1 && block.last >= block.first && block.last <= maxLine && block.statements >= 0 && block.statements <= maxLine
	return name, place, block, ok
}

// position is the line of <line>.<column>.
func position(s string) (int, error) {
	line, _, _ := strings.Cut(s, ".")
	return strconv.Atoi(line)
}

func (b *builder) goFile(modules Modules, name string, blocks map[string]goBlock) error {
	told := name
	if dir, ok := modules.Dir(path.Dir(name)); ok {
		told = path.Join(dir, path.Base(name))
	}
	f, err := b.file(told)
	if err != nil {
		return err
	}
	code := codeLines(b.paths.ReadFile(told, 16<<20))
	for _, block := range blocks {
		f.lines.total += block.statements
		if block.times > 0 {
			f.lines.covered += block.statements
		}
		for line := block.first; line <= block.last; line++ {
			if code != nil && !code[line] {
				continue
			}
			if err := b.hit(f, line, block.times); err != nil {
				return err
			}
		}
	}
	return nil
}

// codeLines are the lines of a Go file that have more than comments and closing brackets; nil when there is no file.
func codeLines(source []byte) map[int]bool {
	if source == nil {
		return nil
	}
	set := token.NewFileSet()
	in := set.AddFile("", -1, len(source))
	var s scanner.Scanner
	s.Init(in, source, func(token.Position, string) {}, 0)
	lines := map[int]bool{}
	for {
		pos, tok, _ := s.Scan()
		switch tok {
		case token.EOF:
			return lines
		case token.RBRACE, token.RPAREN, token.RBRACK, token.SEMICOLON, token.COMMA:
		default:
			lines[in.Line(pos)] = true
		}
	}
}
