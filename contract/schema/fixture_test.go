package schema

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/contract/schema/internal/catalog"
)

var update = flag.Bool("update", false, "write the expected faults anew")

// fixtureFile is where the fixtures of a record are: valid/*.json must be accepted by everything, invalid/*.json
// must give exactly the faults of the *.faults beside it.
func fixtureFile(id string) string {
	return filepath.Join("testdata", strings.ReplaceAll(id, "/", ".")+".txtar")
}

type document struct {
	record catalog.Record
	name   string
	data   []byte
}

// fixtures returns the documents of one group, of all records.
func fixtures(t testing.TB, group string) []document {
	t.Helper()
	var docs []document
	for _, r := range catalog.Records {
		a, err := txtar.ParseFile(fixtureFile(r.ID))
		if err != nil {
			t.Fatal(err)
		}
		n := len(docs)
		for _, f := range a.Files {
			if strings.HasPrefix(f.Name, group+"/") && strings.HasSuffix(f.Name, ".json") {
				docs = append(docs, document{r, f.Name, bytes.TrimSuffix(f.Data, []byte("\n"))})
			}
		}
		if len(docs) == n {
			t.Errorf("%s has no %s fixture", r.ID, group)
		}
	}
	return docs
}

func TestValidFixtures(t *testing.T) {
	t.Parallel()
	for _, d := range fixtures(t, "valid") {
		t.Run(d.record.ID+"/"+d.name, func(t *testing.T) {
			t.Parallel()
			v := reflect.New(d.record.Type)
			if err := decode(d.record.ID, d.data, v.Elem()); err != nil {
				t.Fatalf("refused:\n%v", err)
			}
			if err := Validate(d.record.ID, d.data); err != nil {
				t.Fatalf("the schema refuses it:\n%v", err)
			}
			plain := reflect.New(d.record.Type)
			if err := json.Unmarshal(d.data, plain.Interface()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(plain.Interface(), v.Interface()); diff != "" {
				t.Errorf("encoding/json reads it otherwise:\n%s", diff)
			}
			if catalog.Open(d.record.Type) && strings.Contains(d.name, "newer") {
				return // members that this version does not know are tolerated, not kept
			}
			out, err := json.Marshal(v.Interface())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(generic(t, d.data), generic(t, out)); diff != "" {
				t.Errorf("the round trip loses something:\n%s", diff)
			}
		})
	}
}

// generic reads JSON with its numbers as they are written.
func generic(t testing.TB, data []byte) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestInvalidFixtures(t *testing.T) {
	t.Parallel()
	for _, r := range catalog.Records {
		t.Run(r.ID, func(t *testing.T) {
			t.Parallel()
			a, err := txtar.ParseFile(fixtureFile(r.ID))
			if err != nil {
				t.Fatal(err)
			}
			byName := map[string][]byte{}
			for _, f := range a.Files {
				byName[f.Name] = f.Data
			}
			out := txtar.Archive{Comment: a.Comment}
			for _, f := range a.Files {
				if strings.HasSuffix(f.Name, ".faults") {
					continue
				}
				out.Files = append(out.Files, f)
				if !strings.HasPrefix(f.Name, "invalid/") {
					continue
				}
				data := bytes.TrimSuffix(f.Data, []byte("\n"))
				got := listing(decode(r.ID, data, reflect.New(r.Type).Elem()))
				if got == "" {
					t.Errorf("%s is accepted", f.Name)
				}
				name := strings.TrimSuffix(f.Name, ".json") + ".faults"
				out.Files = append(out.Files, txtar.File{Name: name, Data: []byte(got)})
				if diff := cmp.Diff(string(byName[name]), got); diff != "" && !*update {
					t.Errorf("%s:\n%s", name, diff)
				}
				if err := Validate(r.ID, data); err == nil {
					t.Errorf("%s: Validate accepts it", f.Name)
				}
			}
			if *update {
				if err := os.WriteFile(fixtureFile(r.ID), txtar.Format(&out), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// listing writes faults as the fixtures hold them: the code, then what people read.
func listing(err error) string {
	var b strings.Builder
	for _, f := range fault.Of(err) {
		fmt.Fprintf(&b, "%s %s\n", f.Code, f)
	}
	return b.String()
}
