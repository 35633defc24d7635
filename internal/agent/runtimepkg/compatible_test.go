package runtimepkg

import (
	"testing"

	"github.com/deedrun/deed/contract/homeboy"
)

func TestCompatible(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		m              homeboy.RuntimeManifest
		unmet, unknown int
	}{
		"nothing":            {homeboy.RuntimeManifest{}, 0, 0},
		"an old host":        {homeboy.RuntimeManifest{MinimumVersion: "0.74.2"}, 0, 0},
		"this major":         {homeboy.RuntimeManifest{MinimumVersion: "1.5.4", Requires: map[string]string{"homeboy": ">=1.2"}}, 0, 0},
		"a range":            {homeboy.RuntimeManifest{Requires: map[string]string{"homeboy": ">=0.5, <2"}}, 0, 0},
		"within a minor":     {homeboy.RuntimeManifest{Requires: map[string]string{"homeboy": "^0.74.2"}}, 0, 0},
		"exactly one":        {homeboy.RuntimeManifest{Requires: map[string]string{"homeboy": "1.2"}}, 0, 0},
		"the next major":     {homeboy.RuntimeManifest{MinimumVersion: "2.0.0"}, 1, 0},
		"both":               {homeboy.RuntimeManifest{MinimumVersion: "2.0.0", Requires: map[string]string{"homeboy": "^3"}}, 2, 0},
		"no version":         {homeboy.RuntimeManifest{MinimumVersion: "newest"}, 0, 1},
		"something else":     {homeboy.RuntimeManifest{Requires: map[string]string{"node": ">=20"}}, 0, 1},
		"one and one":        {homeboy.RuntimeManifest{Requires: map[string]string{"node": ">=20", "deed": ">=2"}}, 1, 1},
		"an empty condition": {homeboy.RuntimeManifest{Requires: map[string]string{"homeboy": "*"}}, 0, 0},
	} {
		unmet, unknown := compatible(c.m)
		if len(unmet) != c.unmet || len(unknown) != c.unknown {
			t.Errorf("%s: %v %v", name, unmet, unknown)
		}
	}
}

// A package that requires more is reported, and does not affect others.
func TestIncompatiblePackageIsAProblem(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pack(t, dir, "new", provider("new.run", "new", nil))
	write(t, `{"id":"late","minimum_version":"9.0.0","agent_task_executors":[{"id":"late.run","backend":"late","command":"true"}]}`, dir, "late", "late.json")
	c := catalog(t, dir)
	if len(c.Packages) != 1 || len(c.Problems) != 1 || c.Problems[0].Code != Incompatible || c.Problems[0].ID != "late" {
		t.Errorf("%v %+v", c.Packages, c.Problems)
	}
}
