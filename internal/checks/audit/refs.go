package audit

// A reference is kept as a number of 64 bits: the detectors only ask whether something is referenced, and a collision
// costs at most a missed finding. There are three name spaces: a name after the name of a package, a name of the file's own
// package, and a name after a dot whose owner is not known without types.

const (
	fnvOffset = 14695981039346656037
	fnvPrime  = 1099511628211
)

func hashString(h uint64, s string) uint64 {
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * fnvPrime
	}
	return h
}

func hashByte(h uint64, b byte) uint64 { return (h ^ uint64(b)) * fnvPrime }

// refPair is a name after a dot, with the name before it: which package that is, the imports of the file say.
func refPair(x, name string) uint64 {
	return hashString(hashByte(hashString(hashByte(fnvOffset, 1), x), '.'), name)
}

// refLocal is a name of the own package.
func refLocal(name string) uint64 { return hashString(hashByte(fnvOffset, 2), name) }

// refMember is a name after a dot.
func refMember(name string) uint64 { return hashString(hashByte(fnvOffset, 3), name) }
