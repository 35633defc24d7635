package toolreport_test

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/internal/checks/toolreport"
)

// seen records what a visitor gets.
type seen struct {
	text strings.Builder
	stop error
}

func (s *seen) Begin(e xml.StartElement) error {
	s.text.WriteString("<" + e.Name.Local)
	for _, a := range e.Attr {
		fmt.Fprintf(&s.text, " %s=%q", a.Name.Local, a.Value)
	}
	s.text.WriteString(">")
	return s.stop
}
func (s *seen) Text(text []byte) { s.text.Write(text) }
func (s *seen) End(name string) error {
	s.text.WriteString("</" + name + ">")
	return nil
}

func TestReadXML(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want string }{
		{`<a b="c">d</a>`, `<a b="c">d</a>`},
		{`<?xml version="1.0" encoding="UTF-8"?><!DOCTYPE a><a/>`, `<a></a>`},
		{"\xef\xbb\xbf<a/>", "\ufeff<a></a>"},
		{`<a><!-- <b> -- --><c/></a>`, `<a><c></c></a>`},
		{`<a><![CDATA[x < y && z ]] ]]]></a>`, `<a>x < y && z ]] ]</a>`},
		{`<a x="&lt;&#10;&#x41;&quot;">&amp;&#65;</a>`, `<a x="<\nA\"">&A</a>`},
		{`<a>&#27;[31m&#x0;&#xD800;</a>`, "<a>\uFFFD[31m\uFFFD\uFFFD</a>"},
		{"<a>\x1b[31m\x00</a>", "<a>\uFFFD[31m\uFFFD</a>"},
		{"<a>caf\xe9</a>", "<a>café</a>"},
		{"<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><a>caf\xe9</a>", "<a>café</a>"},
		{`<a>&bomb; & &;</a>`, `<a>&bomb; & &;</a>`},
		{`<a b='x>y'/>`, `<a b="x>y"></a>`},
		{`<a/><b/>`, `<a></a><b></b>`}, // two documents in one file
	} {
		var s seen
		if err := toolreport.ReadXML(strings.NewReader(c.in), &s); err != nil {
			t.Errorf("%q: %v", c.in, err)
		}
		if diff := cmp.Diff(c.want, s.text.String()); diff != "" {
			t.Errorf("%q: %s", c.in, diff)
		}
	}
}

// bomb is a document whose entities would have 3^20 times the text of the first.
func bomb() string {
	var b strings.Builder
	b.WriteString(`<!DOCTYPE a [<!ENTITY e0 "boom">`)
	for i := range 20 {
		fmt.Fprintf(&b, `<!ENTITY e%d "&e%d;&e%d;&e%d;">`, i+1, i, i, i)
	}
	b.WriteString(`]><a>&e20;</a>`)
	return b.String()
}

func TestReadXMLRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, want string }{
		{"entities", bomb(), "a document type with declarations"},
		{"outside", `<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>`, "a document type with declarations"},
		{"deep", strings.Repeat("<a>", toolreport.MaxDepth+1), "nested"},
		{"long tag", `<a b="` + strings.Repeat("x", toolreport.MaxTag+1) + `"/>`, "a tag has more than"},
		{"many attributes", "<a " + strings.Repeat(`b="" `, toolreport.MaxTag/4) + "/>", "a tag has more than"},
		{"open", "<a><b>", "unexpected EOF"},
		{"half a tag", "<a", "unexpected EOF"},
		{"closed twice", "<a></a></a>", "ends nothing"},
		{"encoding", `<?xml version="1.0" encoding="ebcdic"?><a/>`, `encoding "ebcdic" is not known`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var s seen
			err := toolreport.ReadXML(strings.NewReader(c.in), &s)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "line ") {
				t.Errorf("got %v, want a line and %q", err, c.want)
			}
		})
	}
}

func TestReadXMLStopsForItsVisitor(t *testing.T) {
	t.Parallel()
	stop := errors.New("stop")
	if err := toolreport.ReadXML(strings.NewReader("<a><b/></a>"), &seen{stop: stop}); !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
}

// TestReadXMLHoldsLittle reads a text that is much larger than what is kept of it.
func TestReadXMLHoldsLittle(t *testing.T) {
	t.Parallel()
	for _, mark := range [][2]string{{"", ""}, {"<![CDATA[", "]]>"}, {"<!--", "-->"}, {"<?x ", "?>"}} {
		in := io.MultiReader(strings.NewReader("<a>"+mark[0]), io.LimitReader(endless{}, 8<<20), strings.NewReader(mark[1]+"</a>"))
		var s seen
		if err := toolreport.ReadXML(in, &s); err != nil {
			t.Fatal(err)
		}
		if n := s.text.Len(); n > toolreport.MaxText+100 {
			t.Errorf("%q: %d bytes are kept", mark[0], n)
		}
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// FuzzReadXML holds ReadXML against the decoder of the standard library: what that one reads is read as well.
func FuzzReadXML(f *testing.F) {
	f.Add(`<a b="c">d&lt;<![CDATA[e]]><!--f--><?g h?></a>`)
	f.Add(`<a>&#27;&#x;&#1114112;&</a>`)
	f.Add("<a\xff b='\x00'>")
	f.Fuzz(func(t *testing.T, in string) {
		var s seen
		err := toolreport.ReadXML(strings.NewReader(in), &s)
		if len(in) > 1000 || strings.Contains(in, "<!") || strings.Contains(in, "encoding") {
			return
		}
		d := xml.NewDecoder(strings.NewReader(in))
		for {
			if _, std := d.Token(); errors.Is(std, io.EOF) {
				break
			} else if std != nil {
				return
			}
		}
		if err != nil {
			t.Errorf("the standard library reads %q, and here it is %v", in, err)
		}
	})
}
