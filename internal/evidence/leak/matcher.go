package leak

// A keyword is a lower-case text that a match of a rule contains.
type keyword struct {
	text string
	rule int
}

// A matcher finds all keywords in one pass over a text, whatever their case (Aho and Corasick).
type matcher struct {
	class [256]uint8 // of each byte; 0: it is in no keyword
	width int        // how many classes there are
	next  []uint16   // by state and class
	found [][]hit    // by state
}

// A hit is a keyword that ends at a place of the text.
type hit struct{ rule, length int }

func newMatcher(words []keyword) *matcher {
	m := &matcher{width: 1}
	for _, w := range words {
		for i := range len(w.text) {
			if c := w.text[i]; m.class[c] == 0 {
				m.class[c] = uint8(m.width)
				m.width++
			}
		}
	}
	for c := byte('A'); c <= 'Z'; c++ {
		m.class[c] = m.class[c+'a'-'A']
	}
	m.grow()
	for _, w := range words {
		state := 0
		for i := range len(w.text) {
			at := state*m.width + int(m.class[w.text[i]])
			if m.next[at] == 0 {
				m.next[at] = uint16(m.grow())
			}
			state = int(m.next[at])
		}
		m.found[state] = append(m.found[state], hit{w.rule, len(w.text)})
	}
	m.link()
	return m
}

// grow adds a state.
func (m *matcher) grow() int {
	m.next = append(m.next, make([]uint16, m.width)...)
	m.found = append(m.found, nil)
	return len(m.found) - 1
}

// link gives every state the state to continue from when the text leaves its keyword: the longest other prefix that the
// text ends in.
func (m *matcher) link() {
	back := make([]int, len(m.found))
	queue := []int{0}
	for len(queue) > 0 {
		state := queue[0]
		queue = queue[1:]
		if state != 0 {
			m.found[state] = append(m.found[state], m.found[back[state]]...)
		}
		for c := range m.width {
			at := state*m.width + c
			on := int(m.next[back[state]*m.width+c])
			switch child := int(m.next[at]); {
			case child == 0 && state != 0:
				m.next[at] = uint16(on)
			case child != 0:
				if state != 0 {
					back[child] = on
				}
				queue = append(queue, child)
			}
		}
	}
}

// each calls f for every keyword that ends in text[from:to], with the state that the text before left, and returns the one after.
func (m *matcher) each(text []byte, state uint16, from int, f func(end int, h hit)) uint16 {
	for i, c := range text {
		state = m.next[int(state)*m.width+int(m.class[c])]
		for _, h := range m.found[state] {
			f(from+i+1, h)
		}
	}
	return state
}
