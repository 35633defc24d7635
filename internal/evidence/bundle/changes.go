package bundle

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/base/plainfile"
)

// maxChange is how large one entry of a change list may be.
const maxChange = 1 << 20

// maxReviewed is how many changed files a review repeats; the change list has them all. An agent that installs packages
// changes tens of thousands.
const maxReviewed = 5000

// A review has every path three times, and a path can be long, grow when it is written as JSON, or consist of what looks like values to
// who counts them. What is repeated takes half of what a document may have; the rest of the review is small.
const (
	maxReviewedBytes  = maxJSONBytes / 2
	maxReviewedValues = maxJSONValues / 2
)

// riskTruncated marks a review that does not repeat the whole change list.
const riskTruncated = "changed-files-truncated"

// eachChange reads a change list entry by entry, so that its length does not matter, and returns its schema id.
func eachChange(root *os.Root, path string, fn func(map[string]any) error) (schema string, err error) {
	f, err := plainfile.OpenIn(root, path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	guard := &budgetReader{r: f, left: maxChange}
	dec := json.NewDecoder(guard)
	if err := expect(dec, json.Delim('{')); err != nil {
		return "", err
	}
	seen := map[string]bool{}
	for dec.More() {
		guard.left = maxChange
		key, err := dec.Token()
		if err != nil {
			return "", err
		}
		name, _ := key.(string)
		if seen[name] {
			return "", fmt.Errorf("the key %q is there twice", shorten(name))
		}
		seen[name] = true
		if name != "files" {
			var v any
			if err := dec.Decode(&v); err != nil {
				return "", err
			}
			if s, ok := v.(string); ok && name == "schema" {
				schema = s
			}
			continue
		}
		if err := expect(dec, json.Delim('[')); err != nil {
			return "", err
		}
		for dec.More() {
			guard.left = maxChange
			var v any
			if err := dec.Decode(&v); err != nil {
				return "", err
			}
			m, ok := v.(map[string]any)
			if !ok {
				continue
			}
			if err := fn(m); err != nil {
				return "", err
			}
		}
		if err := expect(dec, json.Delim(']')); err != nil {
			return "", err
		}
	}
	if err := expect(dec, json.Delim('}')); err != nil {
		return "", err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return "", errors.New("there is more after the list")
	}
	if !seen["files"] {
		return schema, errors.New("it has no files")
	}
	return schema, nil
}

func expect(dec *json.Decoder, want json.Delim) error {
	t, err := dec.Token()
	if err == nil && t != want {
		err = fmt.Errorf("%v where %v belongs", t, want)
	}
	return err
}

// A budgetReader stops a decoder that reads on and on for one value.
type budgetReader struct {
	r    io.Reader
	left int
}

func (b *budgetReader) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("%w: one value has more than %d bytes", ErrTooLarge, maxChange)
	}
	n, err := b.r.Read(p)
	b.left -= n
	return n, err
}

// reviewChanges sums up the change list as it is in the bundle, redacted.
func (w *Writer) reviewChanges(r *evidence.Review) error {
	const name = evidence.PathChangedFiles
	size, values, full := 0, 0, false
	schema, err := eachChange(w.root, name, func(m map[string]any) error {
		of := func(key string) string { s, _ := m[key].(string); return s }
		f := evidence.ReviewFile{Path: of("path"), Status: of("status"), MountTarget: of("mountTarget"), RelativePath: of("relativePath")}
		f.Label = f.Status + " " + f.RelativePath
		r.Stats.Total++
		switch f.Status {
		case evidence.ChangeAdded:
			r.Stats.Added++
		case evidence.ChangeModified:
			r.Stats.Modified++
		case evidence.ChangeDeleted:
			r.Stats.Deleted++
		default:
			return fmt.Errorf("%q has status %q, not added, modified or deleted", f.RelativePath, f.Status)
		}
		if full = full || len(r.ChangedFiles) == maxReviewed; full {
			return nil
		}
		text, err := encode(f, "")
		if err != nil {
			return err
		}
		size, values = size+len(text), values+jsonValues(text)
		if full = size > maxReviewedBytes || values > maxReviewedValues; !full {
			r.ChangedFiles = append(r.ChangedFiles, f)
		}
		return nil
	})
	if err == nil && schema != evidence.SchemaChangedFiles {
		err = fmt.Errorf("schema is %q, not %q", schema, evidence.SchemaChangedFiles)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if r.Stats.Total > len(r.ChangedFiles) {
		r.RiskFlags = append(r.RiskFlags, riskTruncated)
	}
	return nil
}
