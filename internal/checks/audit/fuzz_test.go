package audit

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// A cache that somebody else wrote is refused or read, and never a panic or a large allocation.
func FuzzDecode(f *testing.F) {
	var e encoder
	e.facts(&facts{lang: "go", lines: 3, parsed: true, funcs: []funcFact{{name: "f", recv: "T", line: 1, end: 2, exact: 7}}, refs: []uint64{1, 2}, hits: []hitFact{{1, 2, []string{"a"}}}})
	f.Add(string(e.b))
	f.Add("")
	f.Add(strings.Repeat("\xff", 40))
	f.Fuzz(func(t *testing.T, s string) {
		d := decoder{s: s}
		got, ok := d.facts()
		if !ok {
			return
		}
		var e encoder
		e.facts(got)
		again := decoder{s: string(e.b)}
		if same, ok := again.facts(); !ok || !reflect.DeepEqual(got, same) {
			t.Errorf("%+v became %+v", got, same)
		}
	})
}

func FuzzDocument(f *testing.F) {
	f.Add("# A\n\n[x](y.md#z) `a/b.go` <a id=\"q\">\n\n```\n[no](no)\n```\n[r]: t\n")
	f.Add("[[[[((((````<<<<\\")
	f.Add("> - [a](<b> \"c\")\n===\n")
	f.Fuzz(func(t *testing.T, s string) {
		var got facts
		readDocument(&got, []byte(s))
		last := strings.Count(s, "\n") + 1
		for _, l := range append(got.links, got.claims...) {
			if l.line < 1 || l.line > last || !strings.Contains(s, l.target) {
				t.Errorf("link %+v of %d lines", l, last)
			}
		}
	})
}

func FuzzComments(f *testing.F) {
	f.Add("a // TODO x\n/* FIXME\n y */ 'z' \"q\\\" // no\" # b\n", 0)
	f.Add("'\\u{1F600}' 'a \"\"\" x", 3)
	f.Fuzz(func(t *testing.T, s string, n int) {
		all := []*syntax{cLike, jsLike, rust, php, python, shellish, configs, sql, css}
		syn := all[max(0, n%len(all))]
		last, before := strings.Count(s, "\n")+1, 0
		eachToken([]byte(s), syn, func(line int, _ string) {
			if line < before || line > last {
				t.Errorf("a comment on line %d after one on %d, of %d", line, before, last)
			}
			before = line
		}, func(line int, _ string) {
			if line > last {
				t.Errorf("a string on line %d of %d", line, last)
			}
		})
	})
}

// No file can end a run: whatever a parser does, the file is one that was not parsed.
func FuzzScript(f *testing.F) {
	f.Add("import a from 'b'\nexport class C extends D { m(x) { return x } #p() {} get [q]() {} }\nconst f = async (a) => { await a }\n")
	f.Add("#!/usr/bin/env node\nmodule.exports = require('x')")
	f.Add(strings.Repeat("!", 200) + strings.Repeat("a=>", 200))
	f.Fuzz(func(t *testing.T, s string) {
		var got facts
		readScript(&got, "x.js", []byte(s))
		if got.parsed == (got.unparsed != "") {
			t.Errorf("parsed %v, %q", got.parsed, got.unparsed)
		}
		last := strings.Count(s, "\n") + strings.Count(s, "\r") + strings.Count(s, "\u2028") + strings.Count(s, "\u2029") + 1
		for _, fn := range got.funcs {
			if fn.line < 1 || fn.end < fn.line || fn.end > last {
				t.Errorf("%+v of %d lines", fn, last)
			}
		}
	})
}

// Whatever a script answers, the facts of it can be kept, and are the same afterwards.
func FuzzFingerprint(f *testing.F) {
	f.Add(`{"methods":["a","a"],"type_name":"T","extends":"B","method_hashes":{"a":"x"},"visibility":{"a":"private"}}`)
	f.Add(`{"functions":[{"name":"a","type":"T","line":-1,"end":9999999999999,"parameters":2,"hash":"x","shape":"y","size":-5}],"types":[{"line":-3,"implements":[""]}]}`)
	f.Add(`{"imports":["a","b"],"import_lines":[-1]}`)
	f.Fuzz(func(t *testing.T, s string) {
		var p fingerprint
		if json.Unmarshal([]byte(s), &p) != nil {
			return
		}
		var got facts
		p.fill(&got)
		var e encoder
		e.facts(&got)
		d := decoder{s: string(e.b)}
		if _, ok := d.facts(); !ok {
			t.Errorf("cannot be kept: %+v", got)
		}
	})
}
