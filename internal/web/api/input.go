package api

import (
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/internal/web/httperror"
)

// A parameter is one field of an input struct. Its tags say all about it:
//
//	path:"id"       a part of the path
//	query:"limit"   a parameter of the query; header:"Name" a header
//	doc:"…"         what it means
//	enum:"a,b"      the words that it takes
//	min, max        bounds of a number; maxlen of a text
//	default:"50"    what it is when it is left out
//	format:"…"      date-time
type parameter struct {
	in, name, doc string
	index         int
	typ           reflect.Type
	enum          []string
	min, max      int
	fallback      string
	format        string
}

const maxText = 1024 // bytes of a parameter

func parameters(t reflect.Type) []parameter {
	var out []parameter
	for i := range t.NumField() {
		f := t.Field(i)
		p := parameter{index: i, typ: f.Type, doc: f.Tag.Get("doc"), fallback: f.Tag.Get("default"), format: f.Tag.Get("format"), max: maxText}
		for _, in := range []string{"path", "query", "header"} {
			if name, ok := f.Tag.Lookup(in); ok {
				p.in, p.name = in, name
			}
		}
		if p.in == "" {
			panic("api: " + t.String() + "." + f.Name + " is no parameter")
		}
		if words := f.Tag.Get("enum"); words != "" {
			p.enum = strings.Split(words, ",")
		}
		if f.Type.Kind() == reflect.Int {
			p.min, p.max = number(f.Tag.Get("min")), number(f.Tag.Get("max"))
		}
		out = append(out, p)
	}
	return out
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic("api: a bound is missing or is not a number: " + s)
	}
	return n
}

// bind reads the parameters of a request. All faults are reported together; a query parameter that the operation does not have is
// one of them, because it is most often a slip of the pen that would change what is answered.
func bind[I any](r *http.Request) (I, error) {
	var in I
	v := reflect.ValueOf(&in).Elem()
	var faults fault.List
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		faults.Add("query", fault.BadFormat, "the query cannot be read", "encode it as a form")
	}
	known := map[string]bool{}
	for _, p := range parameters(v.Type()) {
		var values []string
		switch p.in {
		case "path":
			values = []string{r.PathValue(p.name)}
		case "query":
			known[p.name] = true
			values = query[p.name]
		case "header":
			values = r.Header.Values(p.name)
		}
		if len(values) == 0 && p.fallback != "" {
			values = []string{p.fallback}
		}
		p.set(&faults, v.Field(p.index), values)
	}
	for name := range query {
		if !known[name] {
			faults.Add("query."+clip(name), fault.UnknownField, "there is no such parameter", "")
		}
	}
	if err := faults.Err(); err != nil {
		p := httperror.New(http.StatusBadRequest, "invalid_parameter", "the request has faults; nothing was changed")
		p.Faults = fault.Of(err)
		return in, p
	}
	return in, nil
}

func clip(s string) string {
	s = strings.ToValidUTF8(s, "?")
	if len(s) > 64 {
		return strings.ToValidUTF8(s[:64], "") + "…"
	}
	return s
}

func (p parameter) set(faults *fault.List, v reflect.Value, values []string) {
	place := p.in + "." + p.name
	if p.typ.Kind() == reflect.Slice {
		for _, one := range values {
			for word := range strings.SplitSeq(one, ",") {
				if p.word(faults, place, word) {
					v.Set(reflect.Append(v, reflect.ValueOf(word).Convert(p.typ.Elem())))
				}
			}
		}
		return
	}
	if len(values) > 1 {
		faults.Add(place, fault.Duplicate, "it is given more than once", "give it once")
		return
	}
	if len(values) == 0 {
		return
	}
	text := values[0]
	switch p.typ.Kind() {
	case reflect.Int:
		n, err := strconv.Atoi(text)
		if err != nil || n < p.min || n > p.max {
			faults.Add(place, fault.OutOfRange, fmt.Sprintf("%q is not a number from %d to %d", clip(text), p.min, p.max), "")
			return
		}
		v.SetInt(int64(n))
	case reflect.Bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			faults.Add(place, fault.WrongType, fmt.Sprintf("%q is neither true nor false", clip(text)), "")
			return
		}
		v.SetBool(b)
	default:
		if p.word(faults, place, text) {
			v.SetString(text)
		}
	}
}

// word checks a text value.
func (p parameter) word(faults *fault.List, place, text string) bool {
	switch {
	case !utf8.ValidString(text) || strings.ContainsRune(text, 0):
		faults.Add(place, fault.BadFormat, "it is not UTF-8 text", "")
	case len(text) > p.max:
		faults.Add(place, fault.OutOfRange, fmt.Sprintf("%d bytes are more than %d", len(text), p.max), "")
	case len(p.enum) > 0 && !slices.Contains(p.enum, text):
		faults.Add(place, fault.NotAllowed, fmt.Sprintf("%q is unknown", clip(text)), "use "+strings.Join(p.enum, ", "))
	case p.format == "date-time" && text != "" && !instant(text):
		faults.Add(place, fault.BadFormat, fmt.Sprintf("%q is no instant", clip(text)), "write it as 2026-01-31T08:00:00Z")
	default:
		return true
	}
	return false
}

func instant(text string) bool {
	_, err := agentruntime.Timestamp(text).Time()
	return err == nil
}

// at reads an instant that was checked; "" is the zero time.
func at(text string) time.Time {
	if text == "" {
		return time.Time{}
	}
	t, _ := agentruntime.Timestamp(text).Time()
	return t
}
