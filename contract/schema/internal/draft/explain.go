package draft

import (
	"cmp"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/deedrun/deed/contract/fault"
)

// A Finding is one rule of a schema that a value breaks.
type Finding struct {
	Fault fault.Fault
	// Soft says that the schema can only say that something is wrong, as a pattern does. A rule that is written by hand says it better.
	Soft bool

	tokens []string // where the value is
	schema string   // where the rule is
	about  string   // the member that it is about, if it is about one of several
	rank   rank
}

// A rank tells how near a value is to what was wanted.
type rank int

const (
	rankOther rank = iota
	rankWord       // another word than those of a closed set
	rankType
)

// Findings is what is wrong with a value.
type Findings []Finding

// Faults returns the faults of all findings.
func (fs Findings) Faults() fault.Faults {
	var l fault.List
	for _, f := range fs {
		l.Add(f.Fault.Path, f.Fault.Code, f.Fault.Message, f.Fault.Remedy)
	}
	return l.Faults()
}

// sortByPlace puts findings in the order of their places: entries by their index, members by their names.
func sortByPlace(found Findings) {
	place := func(a, b string) int {
		i, err := strconv.Atoi(a)
		j, err2 := strconv.Atoi(b)
		if err == nil && err2 == nil && i != j {
			return cmp.Compare(i, j)
		}
		return cmp.Compare(a, b)
	}
	slices.SortStableFunc(found, func(a, b Finding) int {
		return cmp.Or(slices.CompareFunc(a.tokens, b.tokens, place), cmp.Compare(a.schema, b.schema), cmp.Compare(a.about, b.about))
	})
}

// An explainer puts what the library found into words.
type explainer struct {
	schemas map[string]*jsonschema.Schema // by location; none for the draft's own
	doc     any
}

// A spot is the place of one error.
type spot struct {
	*explainer
	err   *jsonschema.ValidationError
	path  string
	value any
	rule  *jsonschema.Schema // the rules that it breaks; never nil
}

func (e *explainer) spot(err *jsonschema.ValidationError) *spot {
	s := &spot{explainer: e, err: err, path: fault.Root, value: e.doc, rule: e.schemas[err.SchemaURL]}
	if s.rule == nil {
		s.rule = &jsonschema.Schema{}
	}
	for _, token := range err.InstanceLocation {
		switch v := s.value.(type) {
		case []any:
			i, _ := strconv.Atoi(token)
			s.path, s.value = fault.Index(s.path, i), v[i]
		case map[string]any:
			s.path, s.value = fault.Field(s.path, token), v[token]
		}
	}
	return s
}

func (s *spot) say(path string, r rank, code, message, remedy string) Finding {
	return Finding{Fault: fault.Fault{Path: path, Code: code, Message: message, Remedy: remedy}, tokens: s.err.InstanceLocation, schema: s.err.SchemaURL, rank: r}
}

func (s *spot) here(code, message, remedy string) Findings {
	return Findings{s.say(s.path, rankOther, code, message, remedy)}
}

func (s *spot) word(code, message, remedy string) Findings {
	return Findings{s.say(s.path, rankWord, code, message, remedy)}
}

func about(member string, found Findings) Findings {
	for i := range found {
		found[i].about = member
	}
	return found
}

func soften(found Findings) Findings {
	for i := range found {
		found[i].Soft = true
	}
	return found
}

func (e *explainer) all(causes []*jsonschema.ValidationError) Findings {
	var found Findings
	for _, c := range causes {
		found = append(found, e.explain(c)...)
	}
	return found
}

func (e *explainer) explain(err *jsonschema.ValidationError) Findings {
	s := e.spot(err)
	switch k := err.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.Reference:
		return e.all(err.Causes)
	case *kind.AllOf:
		return soften(e.all(err.Causes))
	case *kind.AnyOf:
		return s.alternatives(s.rule.AnyOf)
	case *kind.OneOf:
		if len(k.Subschemas) > 0 {
			return soften(s.here(fault.Conflict, "fits more than one alternative where it must fit one", ""))
		}
		return s.alternatives(s.rule.OneOf)
	case *kind.Not:
		return soften(s.here(fault.Conflict, "is what the schema excludes", ""))
	case *kind.FalseSchema:
		return s.here(fault.UnknownField, "is not allowed by the schema", "remove it")
	case *kind.RefCycle:
		return s.here(fault.Conflict, "cannot be checked: the schema refers to itself without end", "correct the schema")
	case *kind.Type:
		return s.wrongType(k.Want)
	case *kind.Enum:
		return s.notOneOf(k.Want)
	case *kind.Const:
		return s.notOneOf([]any{k.Want})
	case *kind.Required:
		return s.missing(k.Missing, "is missing")
	case *kind.DependentRequired:
		return about(k.Prop, s.missing(k.Missing, fmt.Sprintf("is missing, and %s is there", shown(k.Prop))))
	case *kind.AdditionalProperties:
		return s.unknown(k.Properties)
	case *kind.PropertyNames:
		return s.wrongName(k.Property)
	}
	return s.bounds()
}

// bounds explains what is about a text, a number or a count.
func (s *spot) bounds() Findings {
	count := func(got int, what, many, remedy string, want int) Findings {
		if got != 1 {
			what = many
		}
		return s.here(fault.OutOfRange, fmt.Sprintf("has %d %s", got, what), fmt.Sprintf(remedy+" %d", want))
	}
	const least, most, of = "use at least", "use at most", "of the kind that it must contain"
	switch k := s.err.ErrorKind.(type) {
	case *kind.Pattern:
		return soften(s.here(fault.BadFormat, fmt.Sprintf("%s does not match %s", shown(k.Got), cut(k.Want)), ""))
	case *kind.Format:
		return soften(s.here(fault.BadFormat, fmt.Sprintf("%s is not of the format %s: %s", shown(k.Got), k.Want, cut(k.Err.Error())), ""))
	case *kind.MinLength:
		if k.Got == 0 && k.Want == 1 {
			return s.here(fault.Blank, "is blank", "give it a value"+s.orNothing())
		}
		return count(k.Got, "character", "characters", least, k.Want)
	case *kind.MaxLength:
		return count(k.Got, "character", "characters", most, k.Want)
	case *kind.MinItems:
		return count(k.Got, "entry", "entries", least, k.Want)
	case *kind.MaxItems:
		return count(k.Got, "entry", "entries", most, k.Want)
	case *kind.MinProperties:
		return count(k.Got, "member", "members", least, k.Want)
	case *kind.MaxProperties:
		return count(k.Got, "member", "members", most, k.Want)
	case *kind.Contains:
		return count(0, "entry "+of, "entries "+of, least, 1)
	case *kind.MinContains:
		return count(len(k.Got), "entry "+of, "entries "+of, least, k.Want)
	case *kind.MaxContains:
		return count(len(k.Got), "entry "+of, "entries "+of, most, k.Want)
	case *kind.UniqueItems:
		first, second := min(k.Duplicates[0], k.Duplicates[1]), max(k.Duplicates[0], k.Duplicates[1])
		return Findings{s.say(fault.Index(s.path, second), rankOther, fault.Duplicate, fmt.Sprintf("is the same as entry %d", first), "list it once")}
	case *kind.Minimum:
		return s.outside(k.Want, s.rule.Maximum, "use at least ")
	case *kind.Maximum:
		return s.outside(s.rule.Minimum, k.Want, "use at most ")
	case *kind.ExclusiveMinimum:
		return s.outside(nil, nil, "use more than "+decimal(k.Want))
	case *kind.ExclusiveMaximum:
		return s.outside(nil, nil, "use less than "+decimal(k.Want))
	case *kind.MultipleOf:
		return s.outside(nil, nil, "use a multiple of "+decimal(k.Want))
	}
	return s.here(fault.BadFormat, "does not fit its schema", "")
}

// outside explains a number outside its bounds.
func (s *spot) outside(low, high *big.Rat, remedy string) Findings {
	switch {
	case low != nil && high != nil:
		remedy = fmt.Sprintf("use %s to %s", decimal(low), decimal(high))
	case low != nil:
		remedy += decimal(low)
	case high != nil:
		remedy += decimal(high)
	}
	return s.here(fault.OutOfRange, shown(s.value)+" is out of range", remedy)
}

// orNothing is what to say in addition of a member that may be absent.
func (s *spot) orNothing() string {
	outer, name, ok := s.outer()
	if ok && !slices.Contains(outer.Required, name) {
		return ", or leave it out"
	}
	return ""
}

// outer is the schema in which the rule's own is the one of a member.
func (s *spot) outer() (_ *jsonschema.Schema, name string, ok bool) {
	if len(s.err.InstanceLocation) == 0 {
		return nil, "", false
	}
	name = s.err.InstanceLocation[len(s.err.InstanceLocation)-1]
	at, ok := strings.CutSuffix(s.err.SchemaURL, "/properties/"+escaped(name))
	if !ok || s.schemas[at] == nil {
		return nil, "", false
	}
	return s.schemas[at], name, true
}

func (s *spot) wrongType(want []string) Findings {
	message, remedy := "is "+is(s.value), "use "+says(want)
	switch {
	case is(s.value) == "a number" && slices.Contains(want, "integer"):
		message, remedy = shown(s.value)+" is not written as a whole number", "use digits only"
	case s.value == nil:
		remedy += s.orNothing()
	}
	return Findings{s.say(s.path, rankType, fault.WrongType, message, remedy)}
}

func (s *spot) notOneOf(want []any) Findings {
	got, isText := s.value.(string)
	words, areTexts := texts(want)
	switch {
	case !isText || !areTexts:
		return s.word(fault.NotAllowed, shown(s.value)+" is not allowed", "use "+alternatives(want))
	case len(words) == 1 && strings.HasSuffix(s.path, ".schema"):
		return s.word(fault.WrongSchema, fmt.Sprintf("%q is not the schema of this record", clip(got)), fmt.Sprintf("write %q", words[0]))
	}
	return s.oneOf(s.path, got, words)
}

func (s *spot) oneOf(path, got string, words []string) Findings {
	var l fault.List
	fault.OneOf(&l, path, got, words...)
	f := l.Faults()[0]
	return Findings{s.say(f.Path, rankWord, f.Code, f.Message, f.Remedy)}
}

func clip(s string) string {
	if len(s) > 40 {
		return s[:40] + "…"
	}
	return s
}

func (s *spot) missing(names []string, message string) Findings {
	var found Findings
	for _, name := range names {
		remedy := "add it"
		if what := need(s.rule.Properties[name]); what != "" {
			remedy += ": " + what
		}
		found = append(found, s.say(fault.Field(s.path, name), rankOther, fault.MissingField, message, remedy))
	}
	return found
}

// unknown explains members that a schema does not have, and finds out which ones were meant.
func (s *spot) unknown(names []string) Findings {
	known := slices.Sorted(maps.Keys(s.rule.Properties))
	var found Findings
	for _, name := range slices.Sorted(slices.Values(names)) {
		message, remedy := "is not a member of this record", "remove it"
		if in := s.holder(name, known); in != "" {
			message += fmt.Sprintf("; it belongs in %q", in)
			remedy = fmt.Sprintf("write it as %s.%s", in, name)
		} else if near := fault.Nearest(name, known); near != "" {
			message += fmt.Sprintf("; did you mean %q?", near)
			remedy = "rename or remove it"
		} else if len(known) > 0 {
			remedy += "; known are " + strings.Join(known, ", ")
		}
		found = append(found, s.say(fault.Field(s.path, name), rankOther, fault.UnknownField, message, remedy))
	}
	return found
}

// holder is the member that has a member of a name, or "".
func (s *spot) holder(name string, known []string) string {
	for _, k := range known {
		if sub, _ := behind(s.rule.Properties[k]); sub != nil && sub.Properties[name] != nil {
			return k
		}
	}
	return ""
}

func (s *spot) wrongName(name string) Findings {
	inner := explainer{schemas: s.schemas, doc: name}
	var found Findings
	for _, f := range inner.all(s.err.Causes) {
		f = s.say(fault.Field(s.path, name), rankOther, f.Fault.Code, "has a name that the schema refuses: "+f.Fault.Message, f.Fault.Remedy)
		found = append(found, f)
	}
	return about(name, soften(found))
}

// alternatives explains that none of several schemas fits: by the word that tells them apart, else by the nearest.
func (s *spot) alternatives(list []*jsonschema.Schema) Findings {
	if len(list) == len(s.err.Causes) {
		if key, words := discriminator(list); key != "" {
			return s.tell(key, words)
		}
		if len(list) == 2 && isNull(list[1]) {
			return s.explain(s.err.Causes[0])
		}
	}
	var nearest Findings
	for _, c := range s.err.Causes {
		found := s.explain(c)
		if nearest == nil || s.distance(found) < s.distance(nearest) {
			nearest = found
		}
	}
	return soften(nearest)
}

// distance tells how far an alternative is from what was written. One of another type was hardly meant, and one
// with another word in a closed set was meant less than one with a few slips.
func (s *spot) distance(found Findings) int {
	d := 0
	for _, f := range found {
		switch {
		case f.rank == rankType && len(f.tokens) == len(s.err.InstanceLocation):
			d += 1000
		case f.rank == rankWord:
			d += 10
		}
		d++
	}
	return d
}

// discriminator is the member whose constant tells several objects apart.
func discriminator(list []*jsonschema.Schema) (key string, words []string) {
	first, _ := behind(list[0])
	if first == nil {
		return "", nil
	}
	for _, name := range slices.Sorted(maps.Keys(first.Properties)) {
		words = nil
		for _, s := range list {
			s, _ := behind(s)
			if s == nil || s.Properties[name] == nil || s.Properties[name].Const == nil {
				break
			}
			if w, ok := (*s.Properties[name].Const).(string); ok && !slices.Contains(words, w) {
				words = append(words, w)
			}
		}
		if len(words) == len(list) {
			return name, words
		}
	}
	return "", nil
}

// tell explains a value that one word tells apart from others.
func (s *spot) tell(key string, words []string) Findings {
	members, ok := s.value.(map[string]any)
	if !ok {
		return s.wrongType([]string{"object"})
	}
	path := fault.Field(s.path, key)
	switch got, there := members[key]; word := got.(type) {
	case string:
		if i := slices.Index(words, word); i >= 0 {
			return s.explain(s.err.Causes[i])
		}
		return s.oneOf(path, word, words)
	default:
		if !there {
			return Findings{s.say(path, rankOther, fault.MissingField, "is missing", "add it: one of "+strings.Join(words, ", "))}
		}
		return Findings{s.say(path, rankType, fault.WrongType, "is not a string", "use one of "+strings.Join(words, ", "))}
	}
}
