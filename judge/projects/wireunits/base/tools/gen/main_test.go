package main

import (
	"strings"
	"testing"
)

func TestGenerate(t *testing.T) {
	code, err := Generate("# a comment\nm length 1 0\n\nC temperature 1 273.15\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"DO NOT EDIT", `Kind: "length"`, "Offset: 273.15"} {
		if !strings.Contains(string(code), want) {
			t.Errorf("no %q in\n%s", want, code)
		}
	}
}

func TestGenerateRefuses(t *testing.T) {
	for _, text := range []string{"m length 1", "m length x 0", "m length 1 x", "m length 0 0", "m length 1 0\nm mass 1 0"} {
		if _, err := Generate(text); err == nil {
			t.Errorf("no error for %q", text)
		}
	}
}
