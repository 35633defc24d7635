package driver

import (
	"fmt"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/base/failure"
)

// A Set holds the drivers that a binary was built with, by kind.
type Set map[string]Driver

// NewSet makes a Set. Two drivers of one kind are a programmer's error.
func NewSet(drivers ...Driver) Set {
	s := make(Set, len(drivers))
	for _, d := range drivers {
		if _, dup := s[d.Kind()]; dup {
			panic("driver: two drivers of kind " + d.Kind())
		}
		s[d.Kind()] = d
	}
	return s
}

// For returns the driver of a kind. A kind without one is an error of class failure.Config that names what there is.
func (s Set) For(kind string) (Driver, error) {
	if d, ok := s[kind]; ok {
		return d, nil
	}
	have := make([]string, 0, len(s))
	for k := range s {
		have = append(have, k)
	}
	slices.Sort(have)
	remedy := "use an adapter of kind " + strings.Join(have, ", ")
	why := fmt.Errorf("adapter kind %q is unknown", kind)
	if slices.Contains(agentruntime.Kinds, kind) {
		why = fmt.Errorf("adapter kind %q has no driver in this build", kind)
	}
	return nil, failure.New(failure.Config, "select driver", why, remedy)
}
