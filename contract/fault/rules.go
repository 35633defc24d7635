package fault

import (
	"fmt"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits that several records share, in bytes.
const (
	MaxName = 512  // identifiers, keys and references
	MaxPath = 4096 // paths, as PATH_MAX
	MaxGlob = 1024 // patterns of paths
)

// Name demands an identifier or a key: not blank, one line, no control character, at most MaxName bytes.
func (l *List) Name(at, value string) {
	switch {
	case strings.TrimSpace(value) == "":
		l.Add(at, Blank, "is blank", "give it a value")
	case len(value) > MaxName:
		l.Add(at, OutOfRange, fmt.Sprintf("has %d bytes", len(value)), fmt.Sprintf("use at most %d", MaxName))
	default:
		l.noControl(at, value)
	}
}

// IsName reports whether Name has nothing against a value.
func IsName(value string) bool {
	return strings.TrimSpace(value) != "" && len(value) <= MaxName && utf8.ValidString(value) &&
		strings.IndexFunc(value, unicode.IsControl) < 0
}

// OptionalName is Name for a value that may be absent.
func (l *List) OptionalName(at, value string) {
	if value != "" {
		l.Name(at, value)
	}
}

// Names demands unique identifiers.
func (l *List) Names(at string, values []string) {
	for i, v := range values {
		if !IsName(v) { // the path is made only for what is wrong
			l.Name(Index(at, i), v)
		}
	}
	l.unique(at, values)
}

// Text demands valid UTF-8 without NUL, which PostgreSQL and file systems cannot hold.
func (l *List) Text(at, value string) {
	if !utf8.ValidString(value) {
		l.Add(at, BadFormat, "is not UTF-8", "write it in UTF-8")
	}
	if strings.IndexByte(value, 0) >= 0 {
		l.Add(at, BadFormat, "holds a NUL character", "remove it")
	}
}

// Say is Text for a value that must say something.
func (l *List) Say(at, value string) {
	if strings.TrimSpace(value) == "" {
		l.Add(at, Blank, "is blank", "say what it is")
		return
	}
	l.Text(at, value)
}

// OneOf demands a word of a closed set.
func OneOf[S ~string](l *List, at string, value S, allowed ...S) {
	if slices.Contains(allowed, value) {
		return
	}
	words := make([]string, len(allowed))
	for i, a := range allowed {
		words[i] = string(a)
	}
	remedy := "use one of " + strings.Join(words, ", ")
	if len(words) == 1 {
		remedy = "use " + words[0]
	}
	message := show(string(value)) + " is not allowed"
	if near := Nearest(string(value), words); near != "" {
		message += fmt.Sprintf("; did you mean %q?", near)
	}
	l.Add(at, NotAllowed, message, remedy)
}

// Between demands a number within bounds.
func (l *List) Between(at string, value, low, high int64) {
	if value < low || value > high {
		l.Add(at, OutOfRange, strconv.FormatInt(value, 10)+" is out of range", fmt.Sprintf("use %d to %d", low, high))
	}
}

// RelativePath demands a slash-separated path that stays below the directory it is relative to.
func (l *List) RelativePath(at, value string) {
	if fault, remedy := relative(value); fault != "" {
		l.Add(at, BadFormat, fault, remedy)
	}
}

// OptionalRelativePath is RelativePath for a value that may be absent.
func (l *List) OptionalRelativePath(at, value string) {
	if value != "" {
		l.RelativePath(at, value)
	}
}

func relative(p string) (message, remedy string) {
	const below = "use a relative path below the root, such as out/report.md"
	switch {
	case strings.TrimSpace(p) == "":
		return "is blank", below
	case len(p) > MaxPath:
		return fmt.Sprintf("has %d bytes", len(p)), fmt.Sprintf("use at most %d", MaxPath)
	case strings.IndexByte(p, 0) >= 0:
		return "holds a NUL character", "remove it"
	case !utf8.ValidString(p):
		return "is not UTF-8", "write it in UTF-8"
	case path.IsAbs(p):
		return show(p) + " is absolute", below
	case slices.Contains(strings.Split(p, "/"), ".."):
		return show(p) + " climbs with ..", below
	case path.Clean(p) != p || p == ".":
		return show(p) + " is not clean", cleanRemedy(p, below)
	}
	return "", ""
}

func cleanRemedy(p, otherwise string) string {
	if c := path.Clean(p); c != "." {
		return fmt.Sprintf("write %q", c)
	}
	return otherwise
}

// Path demands a path that a file system can hold: not blank, no NUL, at most MaxPath bytes. It may be absolute.
func (l *List) Path(at, value string) {
	switch {
	case strings.TrimSpace(value) == "":
		l.Add(at, Blank, "is blank", "name a path")
	case len(value) > MaxPath:
		l.Add(at, OutOfRange, fmt.Sprintf("has %d bytes", len(value)), fmt.Sprintf("use at most %d", MaxPath))
	default:
		l.Text(at, value)
	}
}

// OptionalPath is Path for a value that may be absent.
func (l *List) OptionalPath(at, value string) {
	if value != "" {
		l.Path(at, value)
	}
}

// Glob demands a relative pattern of paths: `*` and `?` within one segment, `**` as a whole segment for any depth,
// `[a-z]` and `[!a-z]` or `[^a-z]`, and a backslash before a character that is meant as it is. One slash may end it.
// What a matcher could read as something else than the author meant (a leading !, braces, a class that is not closed)
// is refused: a pattern that silently matches nothing would protect nothing.
func (l *List) Glob(at, value string) {
	if message, remedy := glob(value); message != "" {
		l.Add(at, BadFormat, message, remedy)
	}
}

func glob(value string) (message, remedy string) {
	if len(value) > MaxGlob {
		return fmt.Sprintf("has %d bytes", len(value)), fmt.Sprintf("use at most %d", MaxGlob)
	}
	dir := value
	if len(dir) > 1 && !strings.HasSuffix(dir, "//") {
		dir = strings.TrimSuffix(dir, "/") // docs/ is docs
	}
	if message, remedy = relative(dir); message != "" {
		return message, remedy
	}
	switch {
	case strings.HasPrefix(value, "!"):
		return show(value) + " begins with !, and patterns are not negated", "list what is meant"
	case strings.ContainsAny(value, "{}"):
		return show(value) + " has braces, and patterns do not expand them", "write one pattern for each alternative"
	}
	for seg := range strings.SplitSeq(dir, "/") {
		if seg == "**" {
			continue
		}
		if strings.Contains(seg, "**") {
			return show(value) + " has ** beside other characters", "use ** as a whole segment, as in src/**/*.go"
		}
		// path.Match negates with ^ only. It would read [!] as a class of one character, which is none here.
		if _, err := path.Match(strings.ReplaceAll(seg, "[!", "[^"), ""); err != nil {
			return show(value) + " is not a valid pattern", "close every [ and put no \\ at the end"
		}
		if backward(seg) {
			return show(value) + " has a range that runs backward", "write the lower character first, as in [a-z]"
		}
	}
	return "", ""
}

// backward reports whether a valid segment has a range such as [z-a]. Matchers differ in what that is.
func backward(seg string) bool {
	r := []rune(seg)
	inside, last := false, rune(0)
	for i := 0; i < len(r); i++ {
		switch {
		case !inside && r[i] == '[':
			inside = true
			if r[i+1] == '!' || r[i+1] == '^' {
				i++
			}
			continue
		case inside && r[i] == ']':
			inside = false
			continue
		case inside && r[i] == '-': // in a valid class it stands between two characters
			i++
			if r[i] == '\\' {
				i++
			}
			if r[i] < last {
				return true
			}
			continue
		case r[i] == '\\':
			i++
		}
		last = r[i]
	}
	return false
}

// EnvName demands the name of an environment variable.
func (l *List) EnvName(at, name string) {
	if !IsEnvName(name) {
		l.Add(at, BadFormat, show(name)+" is not the name of an environment variable", "use letters, digits and _, and no digit first")
	}
}

// IsEnvName reports whether a name matches ^[A-Za-z_][A-Za-z0-9_]*$.
func IsEnvName(name string) bool {
	for i := range len(name) {
		c := name[i]
		switch {
		case c == '_', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
		case i > 0 && c >= '0' && c <= '9':
		default:
			return false
		}
	}
	return name != ""
}

// Env demands valid names and values without NUL.
func (l *List) Env(at string, env map[string]string) {
	if len(env) == 0 {
		return
	}
	names := make([]string, 0, len(env))
	for name := range env {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		l.EnvName(Field(at, name), name)
		l.Text(Field(at, name), env[name])
	}
}

// HTTPURL demands an absolute http or https URL with a host.
func (l *List) HTTPURL(at, value string) {
	u, err := url.Parse(value)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		l.Add(at, BadFormat, show(value)+" is not an http or https URL", "write it whole, as in http://127.0.0.1:11434")
	}
}

// Object demands a JSON object in a member that is kept as it was written.
func (l *List) Object(at string, raw []byte) {
	if len(raw) == 0 {
		l.Add(at, MissingField, "is missing", "use {} for an empty object")
		return
	}
	if !IsObject(raw) {
		l.Add(at, WrongType, "is not a JSON object", "use {} for an empty object")
	}
}

// OptionalObject is Object for a member that may be absent.
func (l *List) OptionalObject(at string, raw []byte) {
	if len(raw) > 0 {
		l.Object(at, raw)
	}
}

func (l *List) unique(at string, values []string) {
	for i, v := range values {
		if slices.Contains(values[:i], v) {
			l.Add(Index(at, i), Duplicate, show(v)+" is there twice", "name it once")
		}
	}
}

func (l *List) noControl(at, value string) {
	if !utf8.ValidString(value) {
		l.Add(at, BadFormat, "is not UTF-8", "write it in UTF-8")
		return
	}
	if i := strings.IndexFunc(value, unicode.IsControl); i >= 0 {
		l.Add(at, BadFormat, show(value)+" holds a control character", "remove it")
	}
}

// show quotes a value for a message and keeps it short.
func show(v string) string {
	const most = 80
	if len(v) > most {
		cut := most
		for cut > 0 && !utf8.RuneStart(v[cut]) {
			cut--
		}
		return strconv.Quote(v[:cut]) + "…"
	}
	return strconv.Quote(v)
}
