// Package checktest is what the tests of all packages share.
package checktest

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

// Equal fails the test when got is not want.
func Equal(t testing.TB, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// NoError stops the test when there is an error.
func NoError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("unexpected error: %v", err)
	}
}

// HasError stops the test when there is no error.
func HasError(t testing.TB, err error) {
	t.Helper()
	if err == nil {
		t.Fatal("want an error, got none")
	}
}

// A Case is one part of a file of testdata.
type Case struct {
	Name, Input, Want string
}

// Cases reads a file of "== name", input, "--", want.
func Cases(t testing.TB, path string) []Case {
	t.Helper()
	data, err := os.ReadFile(path)
	NoError(t, err)
	var out []Case
	for _, part := range strings.Split("\n"+string(data), "\n== ")[1:] {
		name, rest, _ := strings.Cut(part, "\n")
		input, want, found := strings.Cut(rest+"\n", "--\n")
		if !found {
			t.Fatalf("%s: case %q has no --", path, name)
		}
		out = append(out, Case{name, input, strings.TrimSpace(want)})
	}
	if len(out) == 0 {
		t.Fatalf("%s has no cases", path)
	}
	return out
}
