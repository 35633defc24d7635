package brief

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// A Rule says what happens to one section of the brief when the whole is longer than the profile's max_prompt_chars.
type Rule struct {
	Name  string
	Drop  int    // 1 goes first; 0: never
	How   string // of what is dropped; empty: never
	Holds string
}

// Order lists every section in the order in which the agent reads them. It alone defines what is dropped first;
// docs/BRIEF.md prints it.
var Order = []Rule{
	{"identity", 0, "", "who the agent is, the version and the hashes of its constitution"},
	{"constitution", 0, "", "SOUL.md and PURPOSE.md"},
	{"task", 0, "", "subject and description"},
	{"answers", 0, "", "what people answered when an earlier attempt asked"},
	{"rules", 0, "", "write scope, protected paths, checks, required artifacts"},
	{"profile", 0, "", "role, style, prompt parts, what a result may ask for"},
	{"workflow", 0, "", "type, state, visit and iteration of the workflow"},
	{"history", 3, "whole visits, the oldest first", "the visits before this one, newest first"},
	{"artifacts", 2, "whole entries, the last first", "the files that earlier visits left, with their digests"},
	{"payload", 8, "cut at its end, for agents that have it as a file; else never", "the task's payload"},
	{"runtime", 6, "whole", "what there is to use besides the workspace"},
	{"instructions", 5, "cut at their end", "what the repository tells agents"},
	{"skills", 7, "whole", "the name and description of each skill"},
	{"skill instructions", 4, "whole skills, the last first", "the instructions of each skill"},
	{"memory", 1, "whole tasks, the oldest first", "recent tasks of the same agent, newest first"},
	{"output contract", 0, "", "how the agent ends"},
	{"signals", 0, "", "the words that lead on in the workflow"},
}

// drop returns when a section is dropped, by its name.
func drop(name string) int {
	i := slices.IndexFunc(Order, func(r Rule) bool { return r.Name == name })
	if i < 0 {
		panic("no section " + name) // a fault of the build
	}
	return Order[i].Drop
}

// A section of the brief, or one entry of a section that is a list.
type section struct {
	rule   string
	name   string // of an entry; empty: the section is one text
	head   string // of a list: stands before its first entry
	before string // the text is in three pieces, so that a long one is copied only if it is used
	text   string
	after  string
	chars  int    // of the text, also of one that was not kept
	note   string // what ends a text that was cut; empty: it is not cut
	never  bool   // although its rule says otherwise
	gone   bool
	cut    int // how many characters of the text are kept; 0: all
}

// write appends what is kept of the text, without the note, and returns how many characters that is.
func (s section) write(b *strings.Builder) int {
	if s.cut > 0 {
		text := head(s.before+s.text+s.after, s.cut)
		b.WriteString(text)
		return runes(text)
	}
	n := 0
	for _, piece := range []string{s.before, s.text, s.after} {
		b.WriteString(piece)
		n += runes(piece)
	}
	return n
}

func (s section) title() string {
	if s.name == "" {
		return s.rule
	}
	return s.rule + ": " + s.name
}

// A Drop says what was left out although it was there.
type Drop struct {
	Section string `json:"section"`
	Name    string `json:"name,omitempty"`
	Chars   int    `json:"chars"`      // its length
	Kept    int    `json:"kept_chars"` // how many of them the agent gets
	Why     string `json:"why"`
}

// TooLong says that the parts that are never dropped exceed the limit.
type TooLong struct {
	Profile string
	Limit   int
	Needs   int
	Sizes   []Size // the largest first
}

// A Size is how long one section is.
type Size struct {
	Section string `json:"section"`
	Chars   int    `json:"chars"`
}

func (e *TooLong) Error() string {
	var parts []string
	for _, s := range e.Sizes {
		parts = append(parts, fmt.Sprintf("%s %d", s.Section, s.Chars))
	}
	return fmt.Sprintf("what is never dropped has %d characters (%s), and context_policy.max_prompt_chars of profile %q is %d",
		e.Needs, strings.Join(parts, ", "), e.Profile, e.Limit)
}

// Remedy says what to do about it.
func (e *TooLong) Remedy() string {
	largest := "it"
	if len(e.Sizes) > 0 {
		largest = e.Sizes[0].Section
	}
	return fmt.Sprintf("raise max_prompt_chars of profile %q to at least %d, or make %s shorter", e.Profile, e.Needs, largest)
}

// minKept is the shortest useful rest of a text that is cut.
const minKept = 200

// fit drops and cuts until the text has at most limit characters. What is left is whole, or has a note at its end.
func fit(list []section, limit int, profile string) ([]Drop, error) {
	if limit <= 0 {
		return nil, nil
	}
	var drops []Drop
	why := fmt.Sprintf("max_prompt_chars of profile %q is %d", profile, limit)
	order := dropOrder(list)
	for over := size(list) - limit; over > 0; {
		if len(order) == 0 {
			return nil, tooLong(list, limit, profile)
		}
		i := order[0]
		s := &list[i]
		order = order[1:]
		d := Drop{Section: s.rule, Name: s.name, Chars: s.chars, Why: why}
		if kept := s.chars - over - runes(s.note); s.note != "" && kept >= minKept {
			s.cut, d.Kept, over = kept, kept, 0
		} else {
			over -= remove(list, i)
		}
		drops = append(drops, d)
	}
	return drops, nil
}

// remove drops a section and returns by how much the whole gets shorter. It looks at the neighbours only: with a
// thousand files to drop, measuring everything for each would take too long.
func remove(list []section, i int) int {
	around := func() int {
		n := 0
		before := neighbour(list, i, -1)
		for _, s := range []*section{&list[i], neighbour(list, i, 1)} {
			if s != nil && !s.gone {
				n += runes(gap(before, *s)) + s.chars
				before = s
			}
		}
		return n
	}
	whole := around()
	list[i].gone = true
	return whole - around()
}

// neighbour is the next section in a direction that is kept; nil: there is none.
func neighbour(list []section, i, step int) *section {
	for i += step; i >= 0 && i < len(list); i += step {
		if s := &list[i]; s.chars > 0 && !s.gone {
			return s
		}
	}
	return nil
}

// dropOrder lists what may be dropped, as indices, the first to go first.
func dropOrder(list []section) []int {
	var out []int
	for i, s := range list {
		if drop(s.rule) > 0 && !s.never && s.chars > 0 {
			out = append(out, i)
		}
	}
	when := make([]int, len(list))
	for _, i := range out {
		when[i] = drop(list[i].rule)
	}
	slices.SortFunc(out, func(i, j int) int { return cmp.Or(cmp.Compare(when[i], when[j]), cmp.Compare(j, i)) })
	return out
}

func tooLong(list []section, limit int, profile string) *TooLong {
	e := &TooLong{Profile: profile, Limit: limit, Needs: size(list)}
	for _, s := range list {
		if s.chars > 0 && !s.gone {
			e.Sizes = append(e.Sizes, Size{s.rule, s.chars})
		}
	}
	slices.SortStableFunc(e.Sizes, func(a, b Size) int { return cmp.Compare(b.Chars, a.Chars) })
	return e
}

// gap is what separates a section from the kept one before it.
func gap(before *section, s section) string {
	switch {
	case before == nil:
		return s.head
	case s.head != "" && before.rule == s.rule:
		return "\n"
	}
	return "\n\n" + s.head
}

// each visits what is kept, with the gap before it.
func each(list []section, visit func(s section, gap string)) {
	var before *section
	for i := range list {
		if s := list[i]; s.chars > 0 && !s.gone {
			visit(s, gap(before, s))
			before = &list[i]
		}
	}
}

// size is how many characters the whole has. It needs no texts.
func size(list []section) int {
	n := 1 // the newline at the end
	each(list, func(s section, gap string) {
		n += runes(gap) + s.chars
		if s.cut > 0 {
			n += s.cut - s.chars + runes(s.note)
		}
	})
	return n
}

// A Part says where a section is in the text.
type Part struct {
	Section string `json:"section"`
	Name    string `json:"name,omitempty"`
	At      int    `json:"at"` // in characters, from the beginning of the text
	Chars   int    `json:"chars"`
}

// join writes the text, and records where each part is in it.
func join(list []section) (string, []Part, error) {
	var b strings.Builder
	var parts []Part
	var err error
	bytes := 1
	each(list, func(s section, gap string) {
		bytes += len(gap) + len(s.before) + len(s.text) + len(s.after) + len(s.note)
	})
	b.Grow(bytes)
	at := 0
	each(list, func(s section, gap string) {
		want := s.chars
		if s.cut > 0 {
			want = s.cut
		}
		b.WriteString(gap)
		chars := s.write(&b)
		if chars != want && err == nil {
			err = fmt.Errorf("%s is to be told, and its text was not kept", s.title())
		}
		if s.cut > 0 {
			b.WriteString(s.note)
			chars += runes(s.note)
		}
		at += runes(gap)
		parts = append(parts, Part{s.rule, s.name, at, chars})
		at += chars
	})
	b.WriteString("\n")
	return b.String(), parts, err
}

// runes counts characters.
func runes(s string) int { return utf8.RuneCountInString(s) }

// head is the first n characters of a text.
func head(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}
