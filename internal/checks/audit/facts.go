package audit

// facts is what one file says about itself: all that the detectors get to see of it. Strings are shared between files
// where they are equal.
type facts struct {
	lang      string // "" when the language is not known
	lines     int
	parsed    bool   // the structure is known
	unparsed  string // why it is not, for a language that has structure
	generated bool
	pkg       string // the package or namespace
	test      bool   // Go: a test file

	imports []importFact
	funcs   []funcFact
	types   []typeFact
	values  []valueFact
	refs    []uint64 // see refs.go; sorted, without repetitions
	markers []markerFact

	headings []string   // anchors of a document
	links    []linkFact // of a document
	claims   []linkFact // files that a document names in code spans

	hits     []hitFact // matches of text rules
	literals []literalFact
}

type importFact struct {
	path string
	name string // as it is called in the file, where that is said
	line int
}

type funcFact struct {
	name     string
	recv     string // the type, for a method
	line     int
	end      int
	exported bool
	isTest   bool
	vacuous  bool   // a test without a check
	sig      string // the types of its parameters and results
	exact    uint64 // of the body without comments and layout; 0: not worth comparing
	shape    uint64 // and without names and literals
	size     int    // nodes of the body
}

// lines is how long a function is; 0 where that is not known.
func (fn *funcFact) lines() int {
	if fn.end == 0 {
		return 0
	}
	return fn.end - fn.line + 1
}

type typeFact struct {
	name       string
	line       int
	exported   bool
	iface      bool
	methods    []string // of an interface
	implements []string // interfaces and base classes, in the languages that say so
}

type valueFact struct {
	name string
	line int
}

type markerFact struct {
	word    string // TODO, FIXME, HACK, XXX; DEPRECATED
	text    string
	line    int
	version string // since when, if it says so
}

type linkFact struct {
	target string
	line   int
}

// A hitFact is a match of a text rule; rule is its index.
type hitFact struct {
	rule   int
	line   int
	groups []string // the whole match, then the groups
}

type literalFact struct {
	value string
	line  int
}

// A source is one file of the tree with its facts.
type source struct {
	path  string // below the root, slash-separated
	size  int64
	mtime int64 // nanoseconds
	ctime int64
	ino   uint64
	*facts
	digest  [32]byte
	encoded string // the facts, for the cache
	cached  bool
}
