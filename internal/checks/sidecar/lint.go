package sidecar

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/deedrun/deed/contract/runner"
)

var errNoMessage = errors.New("message is needed")

// annotations reads every file of the directory whose name ends in .json, in the order of their names.
func (r *reader) annotations() {
	entries, err := r.list(r.files.Annotations)
	if err != nil {
		r.fault(Annotations, r.files.Annotations, "%v", err)
	}
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".json" {
			continue
		}
		path := filepath.Join(r.files.Annotations, e.Name())
		r.with(Annotations, path, func(in io.Reader) error {
			return r.items(in, Annotations, path, func(it item) error {
				if len(r.set.Annotations) >= maxItems {
					return fmt.Errorf("there are more than %d annotations", maxItems)
				}
				a := runner.Annotation{
					File: r.paths.Below(it.text("file")), Line: it.line("line"), Message: it.text("message"),
					Source: it.text("source"), Severity: it.text("severity"), Code: it.text("code"), Fixable: it.truth("fixable"),
				}
				if a.Message == "" {
					return errNoMessage
				}
				if a.Source == "" {
					a.Source = stem(path)
				}
				r.set.Annotations = append(r.set.Annotations, a)
				return nil
			})
		})
	}
}

// fixes reads what a fixer did, or would do. Without a confidence a fix is guarded. An unknown confidence is reported as a fault and
// makes the fix advisory, so that nothing is applied because of a word that deed does not know.
func (r *reader) fixes(sidecar, path string) []runner.FixResult {
	var out []runner.FixResult
	r.with(sidecar, path, func(in io.Reader) error {
		return r.items(in, sidecar, path, func(it item) error {
			f := runner.FixResult{
				File: r.paths.Below(it.text("file")), Rule: it.text("rule"), Action: it.text("action"),
				Primitive: it.text("primitive"), Confidence: it.text("confidence"),
			}
			switch {
			case f.File == "" || f.Rule == "":
				return errors.New("file and rule are needed")
			case !filepath.IsLocal(f.File):
				return fmt.Errorf("file %q is not below the component", f.File)
			case f.Confidence == "":
				f.Confidence = runner.ConfidenceGuarded
			case !slices.Contains(runner.Confidences, f.Confidence):
				unknown := f.Confidence
				f.Confidence = runner.ConfidenceAdvisory
				out = append(out, f)
				return fmt.Errorf("confidence %q is none of %v: it counts as advisory", unknown, runner.Confidences)
			}
			out = append(out, f)
			return nil
		})
	})
	return out
}
