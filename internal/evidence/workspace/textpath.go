package workspace

import "unicode/utf8"

// TextPath is a path as documents name it: itself where it is text, else in the form of EncodePath. A text that could be taken for that
// form of another path is put into it as well, so that no two paths have one name; every other backslash stays as it is. FromTextPath is
// its inverse. It is not for a name that it has made already.
func TextPath(p string) string {
	if looksEncoded(p) {
		return EncodePath(p)
	}
	return p
}

// FromTextPath is the path that documents name so.
func FromTextPath(name string) string {
	if !looksEncoded(name) {
		return name
	}
	p, err := DecodePath(name)
	if err != nil {
		return name // it is not text, so no document has it
	}
	return p
}

// EarlierTextPath is TextPath as earlier bundles have it, in which one text can mean two paths: a file that is called `\xff` and one that is
// called by that byte have the same name there.
func EarlierTextPath(p string) string {
	if utf8.ValidString(p) {
		return p
	}
	return EncodePath(p)
}

// looksEncoded reports whether p is not text, or is what EncodePath makes of such a path, once or several times over. With the several the set
// is closed under EncodePath, so that what TextPath leaves alone and what it makes have nothing in common.
func looksEncoded(p string) bool {
	for {
		if !utf8.ValidString(p) {
			return true
		}
		inner, err := DecodePath(p)
		if err != nil || inner == p || EncodePath(inner) != p {
			return false
		}
		p = inner
	}
}

// PairParts finds the part of a patch that each name of a change list is about: its index, or -1 for a name that has none or comes once too
// often. whole says that every name has its part and every part its name. A list of an earlier maker is read by EarlierTextPath; what has
// one name there is taken in the order of both, and the apply compares the digests.
func PairParts(names []string, parts []PatchPart) (of []int, whole bool) {
	for _, form := range []func(string) string{TextPath, EarlierTextPath} {
		if other, ok := pairParts(names, parts, form); ok {
			return other, true
		} else if of == nil {
			of = other
		}
	}
	return of, false
}

func pairParts(names []string, parts []PatchPart, form func(string) string) (of []int, whole bool) {
	byName := make(map[string][]int, len(parts))
	for i, p := range parts {
		name := form(p.Path)
		byName[name] = append(byName[name], i)
	}
	of, whole = make([]int, len(names)), len(names) == len(parts)
	for i, name := range names {
		of[i] = -1
		if left := byName[name]; len(left) > 0 {
			of[i], byName[name] = left[0], left[1:]
		}
		whole = whole && of[i] >= 0
	}
	return of, whole
}
