package coverage

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"

	"github.com/deedrun/deed/internal/checks/toolreport"
)

// readXML reads Clover or Cobertura: both have the root coverage, and differ in what stands in it.
func (b *builder) readXML(r io.Reader) (string, error) {
	v := &coverageXML{builder: b}
	err := toolreport.ReadXML(r, v)
	if err == nil && v.format == "" {
		err = fmt.Errorf("%w: there is neither a <project> nor <packages> in <coverage>", ErrUnknownFormat)
	}
	return v.format, err
}

type coverageXML struct {
	*builder
	format  string
	root    bool
	sources []string
	source  bool
	file    *file
	lines   int // listed for the file so far
	method  *cobMethod
}

// cobMethod is a method of Cobertura: it was run when a line of it was.
type cobMethod struct{ run bool }

// Begin implements toolreport.XMLVisitor.
func (v *coverageXML) Begin(e xml.StartElement) error {
	name := e.Name.Local
	if !v.root {
		v.root = true
		if name != "coverage" {
			return fmt.Errorf("<%s> is no report of coverage: <coverage> is expected", name)
		}
		return nil
	}
	switch v.format {
	case Clover:
		return v.clover(name, e)
	case Cobertura:
		return v.cobertura(name, e)
	}
	switch name {
	case "project", "testproject":
		v.format = Clover
	case "packages":
		v.format = Cobertura
	case "source":
		v.source = true
	}
	return nil
}

// Text implements toolreport.XMLVisitor.
func (v *coverageXML) Text(text []byte) {
	if v.source && len(v.sources) < 100 {
		v.sources = append(v.sources, string(text))
	}
}

// End implements toolreport.XMLVisitor.
func (v *coverageXML) End(name string) error {
	v.source = false
	switch {
	case name == "method" && v.method != nil:
		if v.file != nil {
			v.file.methods.add(v.method.run)
		}
		v.method = nil
	case name == "file" && v.format == Clover, name == "class" && v.format == Cobertura:
		v.file, v.lines = nil, 0
	}
	return nil
}

func (v *coverageXML) clover(name string, e xml.StartElement) (err error) {
	switch {
	case name == "file":
		told := toolreport.Attr(e, "path")
		if told == "" {
			told = toolreport.Attr(e, "name")
		}
		v.file, err = v.builder.file(told)
		return err
	case v.file == nil:
		return nil
	case name == "metrics":
		v.metrics(e)
	case name == "line":
		n, err := lineNumber(e, "num")
		if err != nil {
			return err
		}
		if v.lines++; v.lines == 1 {
			v.file.lines, v.file.methods = sum{}, sum{} // the metrics of a class came before its lines
		}
		run := times(toolreport.Attr(e, "count"))
		if toolreport.Attr(e, "type") == "method" {
			v.file.methods.add(run > 0)
			return nil
		}
		return v.hit(v.file, n, run)
	}
	return nil
}

// metrics are the sums of a file. They count if the report lists no lines.
func (v *coverageXML) metrics(e xml.StartElement) {
	number := func(name string) int { return times(toolreport.Attr(e, name)) }
	if v.lines > 0 || len(v.file.hits) > 0 {
		return
	}
	// The element of a class comes before that of its file, which counts all of them.
	v.file.lines = sum{number("statements"), min(number("coveredstatements"), number("statements"))}
	v.file.methods = sum{number("methods"), min(number("coveredmethods"), number("methods"))}
}

func (v *coverageXML) cobertura(name string, e xml.StartElement) (err error) {
	switch {
	case name == "class":
		v.file, err = v.builder.file(v.sourced(toolreport.Attr(e, "filename")))
		return err
	case v.file == nil:
		return nil
	case name == "method":
		v.method = &cobMethod{run: times(toolreport.Attr(e, "line-rate")) > 0}
	case name == "line":
		n, err := lineNumber(e, "number")
		if err != nil {
			return err
		}
		run := times(toolreport.Attr(e, "hits"))
		if v.method != nil {
			v.method.run = v.method.run || run > 0
		}
		return v.hit(v.file, n, run)
	}
	return nil
}

// sourced is a file of Cobertura below the first source in which the component has it.
func (v *coverageXML) sourced(name string) string {
	if path.IsAbs(name) {
		return name
	}
	for _, s := range v.sources {
		told := path.Join(s, name)
		if below := v.paths.Below(told); below != told && !path.IsAbs(below) {
			return told
		}
	}
	return name
}

var errNoLine = errors.New("a line without a number")

func lineNumber(e xml.StartElement, name string) (int, error) {
	told := toolreport.Attr(e, name)
	if told == "" {
		return 0, errNoLine
	}
	n, err := strconv.Atoi(told)
	if err != nil {
		return 0, fmt.Errorf("<line %s=%q> has no number", name, told)
	}
	return n, nil
}
