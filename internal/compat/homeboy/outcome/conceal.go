package outcome

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/base/truncate"
)

// hidden replaces a value whose key is sensitive.
const hidden = "[REDACTED]"

// sensitiveKeys are the keys whose values are not shown, in addition to those of the contract and of the manifest. A key
// matches by its last whole words, however they are joined: openaiApiKey and X-Api-Key end in api_key. So token_count,
// author and keyboard do not match. A bare key, session or nonce does not match either: too much is called that.
var sensitiveKeys = []string{
	"api_key", "apikey", "access_key", "private_key", "secret_key", "signing_key", "authorization", "bearer", "client_secret", "cookie", "cookies",
	"credential", "credentials", "passwd", "password", "passphrase", "secret", "token",
}

// conceal takes secrets out of everything that an answer says: by their value wherever they stand, and by their keys in
// all but the results.
func (a *Answer) conceal(p homeboy.ExecutorProvider) {
	keys := keyWords(p)
	a.scrub(keys)
	said, _, err := a.redactor.JSON(hideKeys(a.Said, keys))
	if err != nil || written(said) > MaxWritten {
		said = nil
	}
	a.Said = said
}

// scrub takes secrets out of the outcome, and bounds what is left. It is written once for all of that: a large one takes long.
// Names of files can hold secrets too. Without keys only values are looked for.
func (a *Answer) scrub(keys [][]string) {
	text := encode(a.Outcome)
	clean, _, err := a.redactor.JSON(hideKeys(text, keys))
	var o homeboy.Outcome
	switch {
	case err == nil && bytes.Equal(clean, text): // the same bytes, most often: nothing was found
	case err == nil && json.Unmarshal(clean, &o) == nil:
		restore(&o, a.Outcome)
		fit(&o)
		a.Outcome = o
	default:
		a.lose()
	}
	if a.redactor.Value(&a.Warnings) != nil {
		a.Warnings = nil
	}
	a.bound(clean, MaxWritten)
}

// restore puts the words of the contract back: they are not the provider's, even where a secret has the same text.
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

// fit keeps names within their bounds: the replacement for a secret can be longer than the secret, and can make two
// names equal.
func fit(o *homeboy.Outcome) {
	for i := range o.Artifacts {
		a := &o.Artifacts[i]
		a.ID, _ = truncate.Cut(a.ID, fault.MaxName)
		a.Kind, _ = truncate.Cut(a.Kind, fault.MaxName)
		a.Path, _ = truncate.Cut(a.Path, fault.MaxPath)
	}
	for i := range o.TypedArtifacts {
		o.TypedArtifacts[i].Name, _ = truncate.Cut(o.TypedArtifacts[i].Name, fault.MaxName)
	}
	if o.Workflow != nil && o.Workflow.Validate() != nil {
		if o.Extra == nil {
			o.Extra = homeboy.Extra{}
		}
		o.Extra["raw_workflow"], o.Workflow = value(o.Workflow), nil
	}
}

// lose gives up an outcome that cannot be rid of secrets.
func (a *Answer) lose() {
	o := homeboy.Outcome{}
	addDiagnostic(&o, homeboy.DiagnosticRepair, "what the provider said could not be rid of secrets, and is not kept", map[string]any{"phase": PhaseRun})
	restore(&o, a.Outcome)
	a.Outcome = o
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

// isHidden reports whether the last words of a key are those of a sensitive key.
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
// returns the text itself.
func hideKeys(text []byte, keys [][]string) []byte {
	if len(keys) == 0 {
		return text
	}
	h := hiding{text: text, keys: keys, known: map[string]bool{}}
	h.value()
	if h.done == 0 {
		return text
	}
	return append(h.out, text[h.done:]...)
}

// hiding walks over a text that is JSON.
type hiding struct {
	text  []byte
	at    int
	out   []byte // the result for text[:done]
	done  int
	keys  [][]string
	known map[string]bool // results of isHidden by key; rows of a table have the same keys
}

// next skips white space, and returns the byte after it; 0 at the end.
func (h *hiding) next() byte {
	for ; h.at < len(h.text); h.at++ {
		switch c := h.text[h.at]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
}

// value goes over one value.
func (h *hiding) value() {
	open := h.next()
	if open != '{' && open != '[' {
		h.skip()
		return
	}
	h.at++
	for {
		switch c := h.next(); {
		case c == '}' || c == ']':
			h.at++
			return
		case c == 0:
			return
		case c == ',':
			h.at++
		case open == '{':
			h.member()
		default:
			h.value()
		}
	}
}

// skip goes over one value without a look into it.
func (h *hiding) skip() {
	for depth := 0; h.next() != 0; {
		switch h.text[h.at] {
		case '"':
			h.at = stringEnd(h.text, h.at)
		case '{', '[':
			depth++
			h.at++
		case '}', ']':
			depth--
			h.at++
		case ',', ':':
			h.at++
		default:
			for h.at < len(h.text) && !bytes.ContainsRune([]byte(",:]} \t\r\n"), rune(h.text[h.at])) {
				h.at++
			}
		}
		if depth <= 0 {
			return
		}
	}
}

func (h *hiding) member() {
	begin := h.at
	h.at = stringEnd(h.text, begin)
	name := h.text[begin:h.at]
	if h.next() == ':' {
		h.at++
	}
	h.next()
	switch {
	case h.hides(name):
		h.hide()
	case bytes.Equal(name, []byte(`"outputs"`)), bytes.Equal(name, []byte(`"payload"`)): // results: only exact secrets are taken out of them
		h.skip()
	default:
		h.value()
	}
}

// maxKnown bounds the keys that are remembered.
const maxKnown = 1000

// hides reports whether the values of a name, which is in quotes, are not shown.
func (h *hiding) hides(name []byte) bool {
	hides, ok := h.known[string(name)]
	if !ok {
		var key string
		hides = json.Unmarshal(name, &key) == nil && isHidden(key, h.keys)
		if len(h.known) < maxKnown {
			h.known[string(name)] = hides
		}
	}
	return hides
}

// hide replaces a value that has content. That a secret exists, true or false, is not secret.
func (h *hiding) hide() {
	begin := h.at
	h.skip()
	raw := h.text[begin:h.at]
	switch text := string(raw); {
	case !substantial(raw), text == "true", text == "false", text == `"`+hidden+`"`:
		return
	}
	h.out = append(append(h.out, h.text[h.done:begin]...), `"`+hidden+`"`...)
	h.done = h.at
}
