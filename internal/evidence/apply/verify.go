package apply

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/base/plainfile"
	"github.com/deedrun/deed/internal/evidence/bundle"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

// CodeChangeListMismatch is the violation of a bundle whose change list names other files than its patch, or one of them less often: a review of the list
// would approve something else than the patch does.
const CodeChangeListMismatch = "change-list-mismatch"

// What is said of a file that only one of the two has.
const (
	notInPatch = "is in the change list and not in the patch"
	notInList  = "is in the patch and not in the change list"
)

// repeated is said of a file that several parts of a patch change: it is unknown which of them was reviewed.
const repeated = "is in the patch more than once"

// Bounds of a comparison for somebody who only verifies. A larger change is compared when it is applied.
const (
	maxCompared  = 32 << 20
	maxFiles     = 100_000
	maxDisagreed = 100
)

// Verify checks a bundle as bundle.Verify does, and adds one check that needs a parser of patches: that its change list and its patch
// are about the same files. It does not judge what it cannot parse: a patch that only git understands, one that a secret was taken
// out of, and the empty one of a run that ended before its patch was made. Apply refuses those.
func Verify(dir string, o bundle.VerifyOptions) (bundle.Verification, error) {
	v, err := bundle.Verify(dir, o)
	if err != nil || !v.Valid {
		return v, err
	}
	v.Violations = append(v.Violations, disagreement(dir, v.Manifest)...)
	v.Valid = len(v.Violations) == 0
	return v, nil
}

// disagreement names the files that only one of change list and patch has.
func disagreement(dir string, m *evidence.Manifest) []evidence.Violation {
	for _, p := range []string{evidence.PathChangedFiles, evidence.PathPatch} {
		e := bundle.ListedFile(m, p)
		if e == nil || e.Redaction != nil && e.Redaction.Policy != evidence.RedactionNone {
			return nil
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil
	}
	defer root.Close()
	patch := readCompared(root, evidence.PathPatch)
	parts, err := workspace.SplitPatch(bytes.NewReader(patch))
	if err != nil || len(parts) == 0 || len(parts) > maxFiles {
		return nil
	}
	list := readCompared(root, evidence.PathChangedFiles)
	var doc evidence.ChangedFiles
	if bytes.Count(list, []byte("{")) > maxFiles || json.Unmarshal(list, &doc) != nil {
		return nil
	}
	var out []evidence.Violation
	say := func(file, what string) {
		if len(out) < maxDisagreed {
			out = append(out, evidence.Violation{Code: CodeChangeListMismatch, Path: evidence.PathChangedFiles, File: file, Message: fmt.Sprintf("%s %s", Shown(file), what)})
		}
	}
	names, _, of := pair(carried(doc.Files), parts)
	listed, taken := map[string]bool{}, map[int]bool{}
	for i, name := range names {
		if at := of[i]; at >= 0 {
			taken[at] = true
		} else if !listed[name] { // what is there twice contradicts itself, and not the patch
			say(name, notInPatch)
		}
		listed[name] = true
	}
	reported := map[string]bool{}
	for i, p := range parts {
		name := workspace.TextPath(p.Path)
		switch {
		case taken[i] || reported[name]:
			continue
		case listed[name]:
			say(name, repeated)
		default:
			say(name, notInList)
		}
		reported[name] = true
	}
	return out
}

// readCompared reads a file of a verified bundle; a file that is too large to compare is left out.
func readCompared(root *os.Root, p string) []byte {
	f, err := plainfile.OpenIn(root, p)
	if err != nil {
		return nil
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxCompared+1))
	if err != nil || len(text) > maxCompared {
		return nil
	}
	return text
}
