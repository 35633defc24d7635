package units

import (
	"strings"
	"testing"
)

func TestFind(t *testing.T) {
	u, err := Find("km")
	if err != nil {
		t.Fatal(err)
	}
	if u.Kind != "length" || u.Factor != 1000 {
		t.Errorf("got %+v", u)
	}
	if _, err := Find("parsec"); err == nil {
		t.Error("found a parsec")
	}
}

func TestNames(t *testing.T) {
	if got := strings.Join(Names("mass"), " "); got != "g kg lb oz t" {
		t.Errorf("got %s", got)
	}
}

func TestEveryKindHasABase(t *testing.T) {
	bases := map[string]int{}
	for _, u := range table {
		if u.Factor == 1 && u.Offset == 0 {
			bases[u.Kind]++
		}
	}
	for _, u := range table {
		if bases[u.Kind] != 1 {
			t.Errorf("%s has %d bases", u.Kind, bases[u.Kind])
		}
	}
}
