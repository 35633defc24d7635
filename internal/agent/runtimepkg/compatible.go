package runtimepkg

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/checks/extension"
)

// Uncomparable is the code of a finding: what a manifest requires of its host cannot be compared.
const Uncomparable = "uncomparable_requirement"

// supportedVersions are versions at the ends of the range that deed supports: the first major version of the contract, and what came
// before it. Hosts number their releases and not the contract, so a minor number says nothing about what deed can do.
var supportedVersions = []string{"0.0.1", "0.999999.999999", "1.0.0", "1.999999.999999"}

// hosts are the names by which a manifest calls its host.
var hosts = []string{"homeboy", "deed", "host", "core"}

// compatible holds what a manifest requires of its host against the contract that deed speaks.
func compatible(m homeboy.RuntimeManifest) (unmet []string, unknown []Finding) {
	hold := func(path, constraint string) {
		met := false
		for _, v := range slices.Concat(supportedVersions, named(constraint)) {
			ok, err := extension.Matches(constraint, v)
			if err != nil {
				unknown = append(unknown, Finding{Warning, path, Uncomparable, fmt.Sprintf("%q is no constraint that can be compared: %v", constraint, err), "write one as in >=1.0.0"})
				return
			}
			met = met || ok
		}
		if !met {
			unmet = append(unmet, fmt.Sprintf("%s: %q asks for more than version 1 of the contract, which deed speaks", path, constraint))
		}
	}
	if v := m.MinimumVersion; v != "" {
		hold("$.minimum_version", ">="+v)
	}
	for _, name := range slices.Sorted(maps.Keys(m.Requires)) {
		path := fault.Field("$.requires", name)
		if !slices.Contains(hosts, name) {
			unknown = append(unknown, Finding{Warning, path, Uncomparable, fmt.Sprintf("deed does not know what %q is", name), "ask for it in runner_readiness"})
			continue
		}
		hold(path, m.Requires[name])
	}
	return unmet, unknown
}

// named lists the versions of the first major version, and before, that a constraint itself names: one that asks for exactly
// such a version is met.
func named(constraint string) []string {
	var out []string
	for _, word := range strings.FieldsFunc(constraint, func(r rune) bool { return r == ',' || r == ' ' }) {
		v := strings.TrimLeft(word, "^~<>=v")
		if major, _, _ := strings.Cut(v, "."); major != "0" && major != "1" {
			continue
		}
		for strings.Count(v, ".") < 2 {
			v += ".0"
		}
		out = append(out, v)
	}
	return out
}
