package sidecar

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/deedrun/deed/internal/base/truncate"
	"github.com/deedrun/deed/internal/checks/toolreport"
)

// maxText is how much of a text in an item is kept.
const maxText = 64 << 10

// An item is an object that a script wrote, by any of its generations: members are asked for by all their names, and what
// has another type than expected is left out instead of refused.
type item map[string]jsontext.Value

// object reads an item.
func object(raw jsontext.Value) (item, error) {
	var it item
	if raw.Kind() != '{' {
		return nil, fmt.Errorf("is %s, not an object", raw.Kind())
	}
	if err := json.Unmarshal(raw, &it, toolreport.Lenient()); err != nil {
		return nil, err
	}
	return it, nil
}

// text is the first of the members that is a text with something in it, or a number.
func (it item) text(names ...string) string {
	for _, name := range names {
		switch v := it[name]; v.Kind() {
		case '"':
			var s string
			if json.Unmarshal(v, &s, toolreport.Lenient()) == nil && s != "" {
				return truncate.Head(strings.ToValidUTF8(s, "\uFFFD"), maxText)
			}
		case '0':
			return string(v)
		}
	}
	return ""
}

// line is the first of the members that is a number of a line, also as a text.
func (it item) line(names ...string) int {
	for _, name := range names {
		v, err := strconv.ParseFloat(it.text(name), 64)
		if err == nil && v >= 1 && v <= math.MaxInt32 {
			return int(v)
		}
	}
	return 0
}

func (it item) truth(name string) bool {
	switch v := it[name]; v.Kind() {
	case 't':
		return true
	case '"', '0':
		t := it.text(name)
		return t != "" && t != "0" && !strings.EqualFold(t, "false") && !strings.EqualFold(t, "no")
	}
	return false
}

// items reads an array of objects. One that cannot be used is a fault with its place, and the others are read.
func (r *reader) items(in io.Reader, sidecar, path string, use func(it item) error) error {
	n := -1
	return toolreport.Array(in, func(raw jsontext.Value) error {
		n++
		if n >= maxItems {
			return fmt.Errorf("has more than %d items", maxItems)
		}
		it, err := object(raw)
		if err == nil {
			err = use(it)
		}
		if err != nil {
			r.fault(sidecar, path, "$[%d]: %v", n, err)
		}
		return nil
	})
}
