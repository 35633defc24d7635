package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/contract/schema/internal/catalog"
	"github.com/deedrun/deed/contract/schema/internal/draft"
)

// agree demands of one document what must hold for every document, and returns whether Decode accepts it.
//
//   - What Decode accepts, the JSON Schema accepts, encoding/json reads to the same value, and writing and reading it
//     again gives the same value: nothing is lost.
//   - What the JSON Schema accepts, Decode does not refuse for its structure.
func agree(t *testing.T, r catalog.Record, data []byte) bool {
	t.Helper()
	v := reflect.New(r.Type)
	err := decode(r.ID, data, v.Elem())
	s, cerr := compiled(r.ID)
	if cerr != nil {
		t.Fatal(cerr)
	}
	if err != nil {
		checkFaults(t, r, data, err)
		if wellFormed(data) == nil && fits(s, data) == nil {
			for _, f := range fault.Of(err) {
				if structural(f) {
					t.Errorf("%s: the schema accepts what is refused with\n%s\n%s", r.ID, f, data)
				}
			}
		}
		return false
	}
	if serr := fits(s, data); serr != nil {
		t.Errorf("%s: the schema refuses what Decode accepts:\n%v\n%s", r.ID, serr, data)
	}
	plain := reflect.New(r.Type)
	if err := json.Unmarshal(data, plain.Interface()); wholeDecimal(err) {
		// encoding/json takes 1.0 for no integer; JSON Schema and Decode do
	} else if err != nil {
		t.Errorf("%s: encoding/json: %v\n%s", r.ID, err, data)
	} else if !reflect.DeepEqual(plain.Interface(), v.Interface()) {
		t.Errorf("%s: encoding/json reads it otherwise:\n%s", r.ID, cmp.Diff(plain.Interface(), v.Interface()))
	}
	out, err := json.Marshal(v.Interface())
	if err != nil {
		t.Fatalf("%s: write: %v\n%s", r.ID, err, data)
	}
	again := reflect.New(r.Type)
	if err := decode(r.ID, out, again.Elem()); err != nil {
		t.Fatalf("%s: read again: %v\n%s\n%s", r.ID, err, data, out)
	}
	twice, err := json.Marshal(again.Interface())
	if err != nil || !bytes.Equal(out, twice) {
		t.Errorf("%s: the round trip is not stable: %v\n%s\n%s", r.ID, err, out, twice)
	}
	return true
}

// wholeDecimal reports whether encoding/json refuses an integer that is written as 1.0.
func wholeDecimal(err error) bool {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return false
	}
	number, ok := strings.CutPrefix(wrong.Value, "number ")
	_, whole := withoutFraction([]byte(number))
	return ok && whole
}

// fits asks a schema alone.
func fits(s *draft.Schema, data []byte) error {
	d, err := draft.Parse(data)
	if err != nil {
		return err
	}
	return s.Validate(d)
}

// structural reports whether a fault says that the form is wrong, as a JSON Schema would.
func structural(f fault.Fault) bool {
	switch f.Code {
	case fault.UnknownField, fault.MissingField, fault.NotAllowed, fault.WrongSchema:
		return true
	case fault.WrongType:
		// JSON Schema takes 1e3 for an integer; a record demands that it be written as one.
		return !strings.Contains(f.Message, "not written as a whole number")
	}
	return false
}

// checkFaults demands that faults are whole: a path from the root, a code, a message, and no two the same.
func checkFaults(t *testing.T, r catalog.Record, data []byte, err error) {
	t.Helper()
	fs := fault.Of(err)
	if len(fs) == 0 {
		t.Fatalf("%s: refused without faults: %v\n%s", r.ID, err, data)
	}
	for i, f := range fs {
		if !strings.HasPrefix(f.Path, fault.Root) || f.Code == "" || f.Message == "" {
			t.Errorf("%s: half a fault: %+v\n%s", r.ID, f, data)
		}
		if slices.Contains(fs[:i], f) {
			t.Errorf("%s: the same fault twice: %s\n%s", r.ID, f, data)
		}
	}
}

// mutate changes one random place of a document, as people and programs do.
func mutate(rnd *rand.Rand, v any, names []string) any {
	switch v := v.(type) {
	case map[string]any:
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		if len(keys) == 0 || rnd.IntN(8) == 0 {
			v[names[rnd.IntN(len(names))]] = leaf(rnd)
			return v
		}
		k := keys[rnd.IntN(len(keys))]
		switch rnd.IntN(6) {
		case 0:
			delete(v, k)
		case 1:
			v[k+"x"] = v[k]
		case 2:
			v[k] = leaf(rnd)
		default:
			v[k] = mutate(rnd, v[k], names)
		}
		return v
	case []any:
		if len(v) == 0 || rnd.IntN(5) == 0 {
			return append(v, leaf(rnd))
		}
		i := rnd.IntN(len(v))
		if rnd.IntN(5) == 0 {
			return append(v, v[i])
		}
		v[i] = mutate(rnd, v[i], names)
		return v
	}
	return leaf(rnd)
}

func leaf(rnd *rand.Rand) any {
	leaves := []any{
		nil, true, false, "", " ", "x", "..", "/abs", "a/b", "completed", "ok", "failed", "blocked", "running", "script", "codex",
		"2026-01-31T08:00:00Z", "2026-01-31T08:00:00,5Z", "2026-01-31t08:00:00z", "2026-01-31T23:59:60Z", "2026-01-31T08:00:00+24:00", "2026-01-31",
		"http://x", "a\x00b", "é😀", strings.Repeat("ü", 300), strings.Repeat("x", 513), strings.Repeat("y/", 2100),
		json.Number("0"), json.Number("-1"), json.Number("1"), json.Number("1.0"), json.Number("0.5"), json.Number("1e3"), json.Number("-0"),
		json.Number("1e400"), json.Number("9223372036854775807"), json.Number("9223372036854775808"), json.Number("604800000"),
		[]any{},
		[]any{"x"},
		[]any{nil},
		map[string]any{},
		map[string]any{"x": json.Number("1")},
		map[string]any{"kind": "script"},
	}
	return leaves[rnd.IntN(len(leaves))]
}

// Every valid fixture is changed in a few thousand ways; the seed is fixed, so a failure comes back.
func TestSchemaAndDecodeAgree(t *testing.T) {
	t.Parallel()
	rounds := 60
	if testing.Short() {
		rounds = 25
	}
	for _, d := range fixtures(t, "valid") {
		t.Run(d.record.ID+"/"+d.name, func(t *testing.T) {
			t.Parallel()
			rnd := rand.New(rand.NewPCG(1, uint64(len(d.data))))
			names := []string{"x", "schema", "status", "kind", "task_type"}
			if s := shapeOf(d.record.Type); s.form == object {
				names = append(names, s.members().names...)
			}
			for range rounds {
				doc := generic(t, d.data)
				for range 1 + rnd.IntN(3) {
					doc = mutate(rnd, doc, names)
				}
				data, err := json.Marshal(doc)
				if err != nil {
					t.Fatal(err)
				}
				agree(t, d.record, data)
			}
		})
	}
}

func FuzzRecords(f *testing.F) {
	for _, group := range []string{"valid", "invalid"} {
		for _, d := range fixtures(f, group) {
			i := slices.IndexFunc(catalog.Records, func(r catalog.Record) bool { return r.ID == d.record.ID })
			f.Add(uint8(i), d.data)
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, data []byte) {
		agree(t, catalog.Records[int(which)%len(catalog.Records)], data)
	})
}

// FuzzScanner demands that what is JSON to encoding/json is JSON here, but for what deed refuses by name.
func FuzzScanner(f *testing.F) {
	for _, s := range []string{
		`{}`, `[]`, `null`, `-0.5e+10`, `"\ud83d\ude00"`, `"\ud800"`, `[1,2,{"a":{"a":1}}]`, `{"a":1,"a":2}`, `{"\u0061":1,"a":2}`, `01`, `1.`, `.5`, `+1`,
		`"\x"`, "\"\t\"", `[1,]`, `{"a":1,}`, `{"a" 1}`, `tru`, `nul`, ` [ ] `, "\ufeff{}", `"\u12"`, `[[[[`, `{"a":[}`, `1e`, `--1`, "\"\xff\"",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		fs := fault.Of(wellFormed(data))
		ours := !slices.ContainsFunc(fs, func(f fault.Fault) bool { return f.Code == fault.InvalidJSON || f.Code == fault.TrailingData })
		theirs := json.Valid(data)
		if ours == theirs {
			return
		}
		if theirs && len(fs) > 0 && (strings.Contains(fs[len(fs)-1].Message, "UTF-8") || strings.Contains(fs[len(fs)-1].Message, "nested")) {
			return
		}
		t.Errorf("encoding/json says %v, the scanner %v: %v\n%q", theirs, ours, fs, data)
	})
}
