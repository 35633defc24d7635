package scripted

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// maxSearched is how much text of a conversation is kept to look for the working directory in.
const maxSearched = 1 << 20

// An ask is a request in the terms that all interfaces share.
type ask struct {
	api    string
	model  string
	stream bool
	tools  []tool

	turn int // 1, 2, …
	said string
	runs int // of results without a number of ours
	seen map[string]bool

	afterAssistant bool
	inResults      bool
	all            strings.Builder
}

// A tool is what an agent offers.
type tool struct {
	name      string
	namespace string
	freeform  bool // takes text, not JSON
	schema    toolSchema
}

type toolSchema struct {
	Properties map[string]struct {
		Type any `json:"type"`
	} `json:"properties"`
	Required []string `json:"required"`
}

func parseSchema(raw json.RawMessage) toolSchema {
	var s toolSchema
	if len(raw) > 0 && json.Unmarshal(raw, &s) != nil {
		return toolSchema{}
	}
	return s
}

// notPrompts begin texts that agents put into the user's mouth on their own.
var notPrompts = []string{
	"<system-reminder>", "<environment_context>", "<user_instructions>", "<turn_aborted>", "<permissions", "<skills_instructions>",
	"# AGENTS.md instructions",
}

// user notes words of the user. Several in a row are one turn.
func (a *ask) user(text string) {
	a.note(text)
	trimmed := strings.TrimSpace(text)
	if trimmed == "" {
		return
	}
	for _, p := range notPrompts {
		if strings.HasPrefix(trimmed, p) {
			return
		}
	}
	if a.turn == 0 || a.afterAssistant {
		a.begin()
	}
	a.said += text + "\n"
}

// assistant notes something that the model said or called for.
func (a *ask) assistant() { a.afterAssistant, a.inResults = true, false }

// callNumber finds the numbers that this server put into the id of a call: see callID.
var callNumber = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`_(done)?(\d+)_(\d+)_\d+$`) })

// result notes the result of a tool. Results whose id is not one of ours count as one answer while they follow each other.
// The result of a completion begins a turn like words of the user do: it tells why the work was refused, or is followed by
// words that do.
func (a *ask) result(callID, output string) {
	m := callNumber().FindStringSubmatch(callID)
	switch {
	case m == nil:
		if !a.inResults {
			a.runs++
		}
		a.inResults = true
	case m[1] != "":
		a.begin()
		a.said = output + "\n"
		return
	default:
		if a.seen == nil {
			a.seen = map[string]bool{}
		}
		a.seen[m[2]+"_"+m[3]] = true
	}
	a.afterAssistant = true
}

// begin begins a turn.
func (a *ask) begin() {
	a.turn++
	a.said, a.runs, a.seen = "", 0, nil
	a.afterAssistant, a.inResults = false, false
}

// position is the number of the answer within the turn, from 0.
func (a *ask) position() int { return len(a.seen) + a.runs }

// callID names a call so that its result says which answer it belongs to. Ids do not repeat within a conversation.
func (a *ask) callID(prefix string, index int) string {
	return prefix + strconv.Itoa(a.turn) + "_" + strconv.Itoa(a.position()) + "_" + strconv.Itoa(index)
}

// note keeps text to look for the working directory in.
func (a *ask) note(text string) {
	if room := maxSearched - a.all.Len(); room > 0 {
		a.all.WriteString(text[:min(len(text), room)])
		a.all.WriteByte('\n')
	}
}

// workdirs are the ways in which prompts and agents tell a model where it works.
var workdirs = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i:WORKDIR=|working directory:\s*|working directory is:?\s*|<cwd>)(/[^\s<>"'` + "`" + `]*)`)
})

// workdir is the directory in which the agent works, according to the conversation; "" if it does not name one.
func (a *ask) workdir() string {
	if m := workdirs().FindStringSubmatch(a.all.String()); m != nil {
		return strings.TrimRight(m[1], "/.,")
	}
	return ""
}

// text reads content that is a string or a list of parts with texts.
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return ""
	}
	var all []string
	for _, p := range parts {
		all = append(all, p.Text)
	}
	return strings.Join(all, "\n")
}
