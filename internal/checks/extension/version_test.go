package extension

import "testing"

func TestMatches(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		constraint string
		yes, no    []string
	}{
		{"*", []string{"0.0.1", "9.9.9", "1.0.0-rc.1"}, nil},
		{"", []string{"1.2.3"}, nil},
		{"1.2.3", []string{"1.2.3", "v1.2.3", "1.2.3+build"}, []string{"1.2.4", "1.2.3-rc.1"}},
		{"=1.2.3", []string{"1.2.3"}, []string{"1.2.2"}},
		{"1.2", []string{"1.2.0", "1.2.9"}, []string{"1.3.0", "1.1.9", "1.3.0-rc.1"}},
		{"1", []string{"1.0.0", "1.9.9"}, []string{"2.0.0", "0.9.9"}},
		{"^1.2.3", []string{"1.2.3", "1.9.0"}, []string{"1.2.2", "2.0.0", "2.0.0-rc.1"}},
		{"^0.2.3", []string{"0.2.3", "0.2.9"}, []string{"0.3.0", "0.2.2"}},
		{"^0.0.3", []string{"0.0.3"}, []string{"0.0.4", "0.0.2"}},
		{"^0", []string{"0.0.0", "0.9.9"}, []string{"1.0.0"}},
		{"^0.0", []string{"0.0.0", "0.0.9"}, []string{"0.1.0"}},
		{"^1", []string{"1.0.0", "1.9.9"}, []string{"2.0.0"}},
		{"~1.2.3", []string{"1.2.3", "1.2.9"}, []string{"1.3.0", "1.2.2"}},
		{"~1.2", []string{"1.2.0"}, []string{"1.3.0"}},
		{"~1", []string{"1.9.0"}, []string{"2.0.0"}},
		{">=1.2", []string{"1.2.0", "2.0.0"}, []string{"1.1.9", "1.2.0-rc.1"}},
		{">1.2", []string{"1.3.0"}, []string{"1.2.9"}},
		{">1.2.3", []string{"1.2.4"}, []string{"1.2.3"}},
		{"<=1.2", []string{"1.2.9"}, []string{"1.3.0"}},
		{"<=1.2.3", []string{"1.2.3"}, []string{"1.2.4"}},
		{"<1.2", []string{"1.1.9"}, []string{"1.2.0"}},
		{">= 1.2, < 2", []string{"1.2.0", "1.9.9"}, []string{"2.0.0", "1.1.0"}},
		{">=1.0.0-rc.2", []string{"1.0.0-rc.10", "1.0.0-rc.x", "1.0.0"}, []string{"1.0.0-rc.1", "1.0.0-rc"}},
	} {
		for _, v := range tc.yes {
			if ok, err := Matches(tc.constraint, v); !ok || err != nil {
				t.Errorf("%s does not accept %s: %v", tc.constraint, v, err)
			}
		}
		for _, v := range tc.no {
			if ok, err := Matches(tc.constraint, v); ok || err != nil {
				t.Errorf("%s accepts %s: %v", tc.constraint, v, err)
			}
		}
	}
	for _, bad := range []string{"latest", "1.2.3.4", "1..2", ">=", "1.x", "^", "1 || 2", "+1", "-1"} {
		if _, err := Matches(bad, "1.0.0"); err == nil {
			t.Errorf("%q is a constraint", bad)
		}
		if _, err := Matches("*", bad); err == nil {
			t.Errorf("%q is a version", bad)
		}
	}
}

func FuzzMatches(f *testing.F) {
	for _, s := range []string{"^1.2", ">= 1, <2", "*", "~0.0.0-a.1", "=>", "1.99999999999999999999"} {
		f.Add(s, "1.2.3")
	}
	f.Fuzz(func(t *testing.T, constraint, version string) {
		a, err := Matches(constraint, version)
		if b, err2 := Matches(constraint, version); a != b || (err == nil) != (err2 == nil) {
			t.Errorf("%q on %q is not decided", constraint, version)
		}
	})
}
