// Package units knows the units of the table.
package units

import (
	"fmt"
	"sort"
)

// A Unit has value*Factor+Offset in the base unit of its kind.
type Unit struct {
	Name, Kind     string
	Factor, Offset float64
}

// Find returns the unit with the name.
func Find(name string) (Unit, error) {
	u, ok := table[name]
	if !ok {
		return Unit{}, fmt.Errorf("no unit %q", name)
	}
	return u, nil
}

// Names returns the names of all units of a kind, sorted.
func Names(kind string) []string {
	var out []string
	for name, u := range table {
		if u.Kind == kind {
			out = append(out, name)
		}
	}
	sort.Strings(out)
	return out
}
