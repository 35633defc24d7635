package redact

import "bytes"

// markStart is how a label begins, after its bracket. What follows is the name.
const markStart = "REDACTED:"

// named returns, for each label that names its secret, the name as it stands there and the secret's own.
func (r *Redactor) named() map[string]string {
	out := map[string]string{}
	for i, label := range r.labels {
		if name, ok := bytes.CutPrefix(label[1:len(label)-1], []byte(markStart)); ok && out[string(name)] == "" {
			out[string(name)] = r.names[i]
		}
	}
	return out
}

// Settle makes the counts of a file of what was replaced on the way into it and of the labels that stand in it now. Labels
// tell all of it, also what was replaced before: they count once, whoever put them there. A label that does not name its
// secret cannot be distinguished from ordinary text; there the replacements count.
func (r *Redactor) Settle(replaced, marks Counts) Counts {
	if !r.Active() {
		return nil
	}
	out := Counts{}
	for i, name := range r.names {
		n := marks[name]
		if !bytes.Contains(r.labels[i], []byte(markStart)) {
			n = replaced[name]
		}
		if n > 0 {
			out[name] = n
		}
	}
	return out
}

// MarksIn counts the labels in b, by the name of the secret that each stands for.
func (r *Redactor) MarksIn(b []byte) Counts {
	m := r.Marks()
	_, _ = m.Write(b) // it takes everything
	return m.Counts()
}

// Marks counts labels in a stream, however it is cut into writes. It holds back no more than a label has. Somebody who
// writes what looks like a label is counted too: nothing tells it from one.
type Marks struct {
	names  map[string]string // by what stands in a label; nil: there are no secrets
	most   int               // the longest of them
	held   []byte            // the end of what was written, in which a label may have begun
	counts Counts
}

// Marks returns a counter that has seen nothing. Without secrets it looks at nothing.
func (r *Redactor) Marks() *Marks {
	m := &Marks{counts: Counts{}}
	if !r.Active() {
		return m
	}
	m.names = r.marks
	for name := range m.names {
		m.most = max(m.most, len(name))
	}
	return m
}

// Counts returns what was seen so far.
func (m *Marks) Counts() Counts { return m.counts }

// Write looks at p. It never fails.
func (m *Marks) Write(p []byte) (int, error) {
	if len(m.names) == 0 {
		return len(p), nil
	}
	rest := p
	if len(m.held) > 0 {
		// A label that began before needs this much of p at most to end in.
		n := min(len(p), len(markStart)+m.most+1)
		m.held = append(m.held, p[:n]...)
		used := m.scan(m.held)
		if used < len(m.held)-n { // it took all of p and is still not decided
			m.held = append(m.held[:0], m.held[used:]...)
			return len(p), nil
		}
		rest = p[n-(len(m.held)-used):]
	}
	m.held = append(m.held[:0], rest[m.scan(rest):]...)
	return len(p), nil
}

// scan counts the labels that are whole in b and returns where one may begin whose end is not there yet.
func (m *Marks) scan(b []byte) int {
	at := 0
	for {
		i := bytes.Index(b[at:], []byte(markStart))
		if i < 0 {
			break
		}
		name := at + i + len(markStart)
		end := name
		for end < len(b) && end-name <= m.most && inName(b[end]) {
			end++
		}
		if end == len(b) && end-name <= m.most {
			return at + i
		}
		if end < len(b) && closes(b[end]) {
			if secret, ok := m.names[string(b[name:end])]; ok {
				m.counts[secret]++
			}
		}
		at = name // which a label may begin in
	}
	return max(at, len(b)-len(markStart)+1)
}

// inName reports whether a label can have c in its name; see label.
func inName(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.'
}

// closes reports whether a label can end with c. Writers of JSON that is safe in HTML escape an angle bracket.
func closes(c byte) bool { return c == ']' || c == '>' || c == '}' || c == '\\' }
