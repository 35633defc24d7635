package outcome

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"unicode"

	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/excerpt"
)

// hidden stands for a value that its key says is not to be shown.
const hidden = "[REDACTED]"

// sensitiveKeys are the keys whose values are not shown, beside those of the contract and of the manifest. A key is meant
// by its last whole words, in whatever way they are joined: openaiApiKey and X-Api-Key end in api_key. So token_count,
// author and keyboard are not meant, and a bare key, session or nonce neither: too much is called that.
var sensitiveKeys = []string{
	"api_key", "apikey", "access_key", "private_key", "secret_key", "signing_key", "authorization", "bearer", "client_secret", "cookie", "cookies",
	"credential", "credentials", "passwd", "password", "passphrase", "secret", "token",
}

// plainMembers are members of an outcome that hold results: only exact secrets are taken out of them.
var plainMembers = []string{"outputs", "payload"}

// conceal takes secrets out of everything that an answer says: by their value wherever they stand, and by their keys in
// all but the results.
func (a *Answer) conceal(p homeboy.ExecutorProvider) {
	keys := keyWords(p)
	var o homeboy.Outcome
	if text, found := hideKeys(value(a.Outcome), keys); found && json.Unmarshal(text, &o) == nil {
		a.Outcome = o
	}
	a.Said, _ = hideKeys(a.Said, keys)
	a.scrub()
}

// scrub takes secrets out by their value. Names of files can hold them too.
func (a *Answer) scrub() {
	if !a.redactor.Active() {
		return
	}
	kept := a.Outcome
	for _, part := range []any{&a.Outcome, &a.Said, &a.Warnings} {
		if a.redactor.Value(part) != nil {
			a.lose(part)
		}
	}
	restore(&a.Outcome, kept)
	fit(&a.Outcome)
}

// restore puts the words of the contract back: they are none of a provider's, whatever a secret is.
func restore(o *homeboy.Outcome, kept homeboy.Outcome) {
	o.Schema, o.TaskID, o.Status, o.FailureClassification = kept.Schema, kept.TaskID, kept.Status, kept.FailureClassification
	for i := range o.Artifacts {
		o.Artifacts[i].Schema = kept.Artifacts[i].Schema
	}
	for i := range o.EvidenceRefs {
		o.EvidenceRefs[i].Schema = kept.EvidenceRefs[i].Schema
	}
	if w := o.Workflow; w != nil {
		w.Schema = kept.Workflow.Schema
		for i := range w.Steps {
			w.Steps[i].Status = kept.Workflow.Steps[i].Status
		}
	}
}

// fit holds names to their bounds: what stands for a secret can be longer than it, and make two names one.
func fit(o *homeboy.Outcome) {
	for i := range o.Artifacts {
		a := &o.Artifacts[i]
		a.ID, _ = excerpt.Cut(a.ID, fault.MaxName)
		a.Kind, _ = excerpt.Cut(a.Kind, fault.MaxName)
		a.Path, _ = excerpt.Cut(a.Path, fault.MaxPath)
	}
	for i := range o.TypedArtifacts {
		o.TypedArtifacts[i].Name, _ = excerpt.Cut(o.TypedArtifacts[i].Name, fault.MaxName)
	}
	if o.Workflow != nil && o.Workflow.Validate() != nil {
		if o.Extra == nil {
			o.Extra = homeboy.Extra{}
		}
		o.Extra["raw_workflow"], o.Workflow = value(o.Workflow), nil
	}
}

// lose gives up a part that cannot be rid of secrets.
func (a *Answer) lose(part any) {
	switch part {
	case &a.Outcome:
		a.Outcome = homeboy.Outcome{}
		tell(&a.Outcome, homeboy.DiagnosticRepair, "what the provider said could not be rid of secrets, and is not kept", map[string]any{"phase": PhaseRun})
	case &a.Said:
		a.Said = nil
	case &a.Warnings:
		a.Warnings = nil
	}
}

// keyWords returns the words of every key whose value is not shown.
func keyWords(p homeboy.ExecutorProvider) [][]string {
	var all [][]string
	for _, list := range [][]string{sensitiveKeys, homeboy.RedactedMetadataKeys, p.RedactedMetadataKeys} {
		for _, key := range list {
			if w := words(key); len(w) > 0 {
				all = append(all, w)
			}
		}
	}
	return all
}

// words returns the words of a key in lower case: api_key, api-key, apiKey and API_KEY are the same two.
func words(key string) []string {
	var all []string
	var word strings.Builder
	flush := func() {
		if word.Len() > 0 {
			all = append(all, strings.ToLower(word.String()))
			word.Reset()
		}
	}
	runes := []rune(key)
	for i, c := range runes {
		if !unicode.IsLetter(c) && !unicode.IsDigit(c) {
			flush()
			continue
		}
		// A capital begins a word after a small letter, and before one in a run of capitals: APIKey is api and key.
		if unicode.IsUpper(c) && i > 0 && (unicode.IsLower(runes[i-1]) || unicode.IsUpper(runes[i-1]) && i+1 < len(runes) && unicode.IsLower(runes[i+1])) {
			flush()
		}
		word.WriteRune(c)
	}
	flush()
	return all
}

// isHidden reports whether the last words of a key are those of one that is not shown.
func isHidden(key string, keys [][]string) bool {
	if len(key) > 256 {
		return false
	}
	w := words(key)
	return slices.ContainsFunc(keys, func(last []string) bool {
		return len(w) >= len(last) && slices.Equal(w[len(w)-len(last):], last)
	})
}

// hideKeys returns a JSON text with the values of some keys replaced, in one pass however deep it is. Without such a key it
// returns the text itself, and false.
func hideKeys(text []byte, keys [][]string) ([]byte, bool) {
	h := hiding{in: json.NewDecoder(bytes.NewReader(text)), keys: keys, known: map[string]bool{}}
	h.in.UseNumber()
	if err := h.value(); err != nil || h.found == 0 {
		return text, false
	}
	return h.out.Bytes(), true
}

type hiding struct {
	in    *json.Decoder
	out   bytes.Buffer
	keys  [][]string
	known map[string]bool // what isHidden said of keys; rows of a table have the same ones
	found int
}

func (h *hiding) value() error {
	t, err := h.in.Token()
	if err != nil {
		return err
	}
	open, ok := t.(json.Delim)
	if !ok {
		return h.write(t)
	}
	h.out.WriteByte(byte(open))
	for n := 0; h.in.More(); n++ {
		if n > 0 {
			h.out.WriteByte(',')
		}
		if open == '{' {
			err = h.member()
		} else {
			err = h.value()
		}
		if err != nil {
			return err
		}
	}
	end, err := h.in.Token()
	if d, ok := end.(json.Delim); ok {
		h.out.WriteByte(byte(d))
	}
	return err
}

func (h *hiding) member() error {
	t, err := h.in.Token()
	if err != nil {
		return err
	}
	name, ok := t.(string)
	if !ok {
		return io.ErrUnexpectedEOF
	}
	if err := h.write(name); err != nil {
		return err
	}
	h.out.WriteByte(':')
	switch {
	case h.hides(name):
		return h.hide()
	case slices.Contains(plainMembers, name): // as it stands, however much it is
		var raw homeboy.Value
		err := h.in.Decode(&raw)
		h.out.Write(raw)
		return err
	}
	return h.value()
}

// maxKnown bounds the keys that are remembered.
const maxKnown = 1000

func (h *hiding) hides(name string) bool {
	hides, ok := h.known[name]
	if !ok {
		hides = isHidden(name, h.keys)
		if len(h.known) < maxKnown {
			h.known[name] = hides
		}
	}
	return hides
}

// hide replaces a value that says something. Whether a secret is there is none.
func (h *hiding) hide() error {
	var raw homeboy.Value
	if err := h.in.Decode(&raw); err != nil {
		return err
	}
	switch text := string(bytes.TrimSpace(raw)); {
	case !substantial(raw), text == "true", text == "false", text == `"`+hidden+`"`:
		h.out.Write(raw)
		return nil
	}
	h.found++
	return h.write(hidden)
}

func (h *hiding) write(v any) error {
	text, err := json.Marshal(v)
	h.out.Write(text)
	return err
}
