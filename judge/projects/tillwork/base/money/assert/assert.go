// Package assert is what the tests of both modules use.
package assert

import (
	"fmt"
	"reflect"
	"testing"
)

// Equal fails the test when got is not want.
func Equal(t testing.TB, got, want any, about ...any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v %s", got, want, fmt.Sprint(about...))
	}
}

// NoError stops the test when there is an error.
func NoError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("unexpected error: %v", err)
	}
}

// Error fails the test when there is none.
func Error(t testing.TB, err error, about ...any) {
	t.Helper()
	if err == nil {
		t.Errorf("want an error %s", fmt.Sprint(about...))
	}
}
