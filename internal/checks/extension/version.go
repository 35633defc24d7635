package extension

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// ContractVersion is the version of Homeboy whose runner contract deed speaks: what requires.homeboy is held against.
const ContractVersion = "0.354.1"

// A semver is a version; parts counts those that were written, for constraints such as 1.2.
type semver struct {
	n     [3]uint64
	parts int
	pre   string
}

// parseVersion reads a version of one to three numbers, with a pre-release and build data where it has them.
func parseVersion(s string) (semver, error) {
	var v semver
	text := strings.TrimPrefix(strings.TrimSpace(s), "v")
	text, _, _ = strings.Cut(text, "+")
	text, v.pre, _ = strings.Cut(text, "-")
	numbers := strings.Split(text, ".")
	if len(numbers) > 3 {
		return v, fmt.Errorf("%q is not a version (write one as in 1.2.3)", s)
	}
	for i, part := range numbers {
		n, err := strconv.ParseUint(part, 10, 32)
		if err != nil || part == "" || part[0] == '+' {
			return v, fmt.Errorf("%q is not a version (write one as in 1.2.3)", s)
		}
		v.n[i] = n
		v.parts++
	}
	return v, nil
}

// compare orders versions as semantic versioning does: a pre-release stands before its release.
func (v semver) compare(w semver) int {
	for i := range v.n {
		if c := cmp.Compare(v.n[i], w.n[i]); c != 0 {
			return c
		}
	}
	switch {
	case v.pre == w.pre:
		return 0
	case v.pre == "":
		return 1
	case w.pre == "":
		return -1
	}
	return comparePre(strings.Split(v.pre, "."), strings.Split(w.pre, "."))
}

func comparePre(a, b []string) int {
	for i := range min(len(a), len(b)) {
		x, xerr := strconv.ParseUint(a[i], 10, 64)
		y, yerr := strconv.ParseUint(b[i], 10, 64)
		var c int
		switch {
		case xerr == nil && yerr == nil:
			c = cmp.Compare(x, y)
		case xerr == nil:
			c = -1 // numbers stand before words
		case yerr == nil:
			c = 1
		default:
			c = cmp.Compare(a[i], b[i])
		}
		if c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a), len(b))
}

// bump returns the first version behind all that share the first n numbers of v; the pre-releases of that are behind too.
func (v semver) bump(n int) semver {
	w := semver{parts: 3, pre: "0"}
	copy(w.n[:n], v.n[:n])
	w.n[n-1]++
	return w
}

// Matches reports whether a version satisfies a constraint: *, 1.2.3, ^1.2, ~1.2, >=1, >1, <=1, <1; several of them, with
// commas or blanks between, all hold. A version that is not written out stands for all that begin with it.
func Matches(constraint, version string) (bool, error) {
	v, err := parseVersion(version)
	if err != nil {
		return false, err
	}
	terms, err := parseConstraint(constraint)
	if err != nil {
		return false, err
	}
	for _, t := range terms {
		if !t.holds(v) {
			return false, nil
		}
	}
	return true, nil
}

// A term is one operator and its version.
type term struct {
	op  string
	ver semver
}

func parseConstraint(s string) ([]term, error) {
	var terms []term
	text := strings.NewReplacer(",", " ").Replace(s)
	for _, op := range []string{">=", "<=", ">", "<", "=", "^", "~"} { // an operator may stand apart from its version
		for strings.Contains(text, op+" ") {
			text = strings.ReplaceAll(text, op+" ", op)
		}
	}
	for _, word := range strings.Fields(text) {
		if word == "*" {
			continue
		}
		op := "="
		for _, o := range []string{">=", "<=", ">", "<", "=", "^", "~"} {
			if rest, ok := strings.CutPrefix(word, o); ok {
				op, word = o, rest
				break
			}
		}
		v, err := parseVersion(word)
		if err != nil {
			return nil, fmt.Errorf("%q is not a constraint: %w", s, err)
		}
		terms = append(terms, term{op, v})
	}
	return terms, nil
}

func (t term) holds(v semver) bool {
	low, high := t.ver, t.ver.bump(t.ver.parts) // what the written numbers stand for
	whole := t.ver.parts == 3
	switch t.op {
	case ">=":
		return v.compare(low) >= 0
	case "<":
		return v.compare(low) < 0
	case ">":
		if whole {
			return v.compare(low) > 0
		}
		return v.compare(high) >= 0
	case "<=":
		if whole {
			return v.compare(low) <= 0
		}
		return v.compare(high) < 0
	case "^":
		return v.compare(low) >= 0 && v.compare(t.ver.bump(t.ver.caret())) < 0
	case "~":
		return v.compare(low) >= 0 && v.compare(t.ver.bump(min(t.ver.parts, 2))) < 0
	}
	if whole {
		return v.compare(low) == 0
	}
	return v.compare(low) >= 0 && v.compare(high) < 0
}

// caret is how many numbers ^ keeps: up to the first that is not zero.
func (v semver) caret() int {
	for i := range v.parts {
		if v.n[i] != 0 {
			return i + 1
		}
	}
	return v.parts
}
