package apply

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/base/atomicfile"
	"github.com/deedrun/deed/internal/evidence/bundle"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

// Bounds of what is read from a bundle. A patch beyond its bound is more than git apply takes.
const (
	maxChangeList = 64 << 20
	maxPatch      = 1023 << 20
)

// A File is one changed file of an offer.
type File struct {
	Path      string // in its workspace; any bytes but NUL
	Name      string // the same as documents name it; no two files have one
	Full      string // with its workspace
	Workspace string
	Status    string
	Before    Side
	After     Side

	part workspace.PatchPart
}

// An Offer is a verified change that can be applied. Its patch was copied out of the bundle while its digest was compared.
type Offer struct {
	Dir          string
	Verification bundle.Verification
	Files        []File

	patch *os.File // has no name any more
}

// Close gives the copy of the patch back.
func (o *Offer) Close() {
	if o.patch != nil {
		_ = o.patch.Close()
	}
}

// Read verifies the bundle in dir and reads its change. A *Refusal says why there is none; the offer has the verification
// also then, and need not be closed.
func Read(dir string, v bundle.VerifyOptions) (*Offer, error) {
	o := &Offer{Dir: dir}
	var err error
	if o.Verification, err = bundle.Verify(dir, v); err != nil {
		return o, err
	}
	if !o.Verification.Valid {
		return o, invalid(o.Verification)
	}
	if err := o.read(); err != nil {
		o.Close()
		o.patch, o.Files = nil, nil
		return o, err
	}
	return o, nil
}

func invalid(v bundle.Verification) error {
	var reasons []evidence.ApplyReason
	for _, vi := range v.Violations {
		// A file that several places of a bundle describe is wrong in each of them. For an apply that is one fault.
		r := evidence.ApplyReason{Code: ReasonBundleInvalid, Path: vi.File, Message: vi.Code + ": " + vi.Message}
		if slices.Contains(reasons, r) {
			continue
		}
		if reasons = append(reasons, r); len(reasons) == 100 {
			break
		}
	}
	return refused(reasons)
}

func (o *Offer) read() error {
	m := o.Verification.Manifest
	for _, p := range []string{evidence.PathChangedFiles, evidence.PathPatch} {
		e := bundle.ListedFile(m, p)
		switch {
		case e == nil:
			return refuse(ReasonChangeList, p, "is not in the bundle")
		case e.Redaction != nil && e.Redaction.Policy != evidence.RedactionNone:
			return refuse(ReasonRedacted, p, "is redacted: what is stored is not the change that the agent made")
		}
	}
	if err := o.mayApply(); err != nil {
		return err
	}
	var list bytes.Buffer
	if err := o.copy(evidence.PathChangedFiles, maxChangeList, &list); err != nil {
		return err
	}
	var doc evidence.ChangedFiles
	if err := json.Unmarshal(list.Bytes(), &doc); err != nil {
		return refuse(ReasonChangeList, evidence.PathChangedFiles, "cannot be read: %v", err)
	}
	if err := o.spool(); err != nil {
		return err
	}
	parts, err := workspace.SplitPatch(o.patch)
	if errors.Is(err, workspace.ErrApply) {
		return refuse(ReasonPatch, "", "%v", err)
	}
	if err != nil {
		return err
	}
	return o.match(doc.Files, parts)
}

// mayApply refuses a change whose run was requested as evidence only.
func (o *Offer) mayApply() error {
	if bundle.ListedFile(o.Verification.Manifest, evidence.PathMetadata) == nil {
		return nil // not deed's
	}
	var text bytes.Buffer
	if err := o.copy(evidence.PathMetadata, maxChangeList, &text); err != nil {
		return err
	}
	var doc struct {
		Spec struct {
			ApplyBack string `json:"apply_back"`
		} `json:"spec"`
	}
	// A bundle of another maker may have a spec of another form.
	if json.Unmarshal(text.Bytes(), &doc) == nil && doc.Spec.ApplyBack == deed.ApplyBackDisabled {
		return refuse(ReasonEvidenceOnly, "", "the request says applyBack disabled: the change is evidence only")
	}
	return nil
}

func (o *Offer) copy(p string, most int64, w io.Writer) error {
	err := bundle.CopyContent(o.Dir, o.Verification.Manifest, p, most, w)
	if errors.Is(err, bundle.ErrChanged) {
		return refuse(ReasonBundleChanged, p, "changed while it was read")
	}
	return err
}

// spool copies the patch to a file without a name, so that what is applied is what was compared.
func (o *Offer) spool() error {
	dir, done, err := atomicfile.Scratch("patch")
	if err != nil {
		return fmt.Errorf("copy the patch: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "patch.diff"), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	done()
	if err != nil {
		return fmt.Errorf("copy the patch: %w", err)
	}
	o.patch = f
	if err := o.copy(evidence.PathPatch, maxPatch, f); err != nil {
		return err
	}
	_, err = f.Seek(0, io.SeekStart)
	return err
}

// match pairs the change list with the parts of the patch. In a bundle of several workspaces the patch has each file below
// its workspace's target; in one of a single workspace it has the relative path alone. Which of them it is, the patch says.
func (o *Offer) match(list []evidence.ChangedFile, parts []workspace.PatchPart) error {
	list = carried(list)
	var reasons []evidence.ApplyReason
	say := func(code, name, message string) {
		reasons = append(reasons, evidence.ApplyReason{Code: code, Path: name, Message: message})
	}
	times := map[string]int{}
	for _, p := range parts {
		if times[p.Path]++; times[p.Path] == 2 {
			say(ReasonPatchPaths, workspace.TextPath(p.Path), repeated)
		}
	}
	names, prefixes, of := pair(list, parts)
	seen, taken := map[string]bool{}, map[int]bool{}
	for i, c := range list {
		name, at := names[i], of[i]
		twice := seen[name]
		seen[name] = true
		switch {
		case at < 0 && twice:
			say(ReasonChangeList, name, "is in the change list twice")
			continue
		case at < 0:
			say(ReasonPatchPaths, name, notInPatch)
			continue
		}
		taken[at] = true
		f := File{Path: strings.TrimPrefix(parts[at].Path, prefixes[i]), Full: c.Path, Workspace: c.MountTarget, Status: c.Status, part: parts[at]}
		if f.Name = workspace.TextPath(f.Path); f.Name != c.RelativePath { // an earlier maker may have it for another file, too
			f.Full = path.Join(c.MountTarget, f.Name)
		}
		if why := f.sides(c); why != "" {
			say(ReasonChangeList, name, why)
		} else if why := f.retyped(); why != "" && times[f.part.Path] == 1 {
			say(ReasonSurprise, name, why)
		}
		o.Files = append(o.Files, f)
	}
	for i, p := range parts {
		if name := workspace.TextPath(p.Path); !taken[i] && !seen[name] {
			say(ReasonPatchPaths, name, notInList)
		}
	}
	return refused(reasons)
}

// carried are the files of a change list that the patch has to have.
func carried(list []evidence.ChangedFile) []evidence.ChangedFile {
	return slices.DeleteFunc(list, func(c evidence.ChangedFile) bool { return c.Class != "" })
}

// pair returns what the patch calls the files of a change list, the beginning of each that is its workspace's, and the parts that they are.
func pair(list []evidence.ChangedFile, parts []workspace.PatchPart) (names, prefixes []string, of []int) {
	names, prefixes = make([]string, len(list)), make([]string, len(list))
	for i, c := range list {
		names[i] = below(c.MountTarget, c.RelativePath)
		prefixes[i] = names[i][:len(names[i])-len(c.RelativePath)]
	}
	of, whole := workspace.PairParts(names, parts)
	if whole || known(names, parts) {
		return names, prefixes, of
	}
	for i, c := range list {
		names[i], prefixes[i] = c.RelativePath, ""
	}
	of, _ = workspace.PairParts(names, parts)
	return names, prefixes, of
}

// known reports whether a patch has every name, whatever else it has.
func known(names []string, parts []workspace.PatchPart) bool {
	has := map[string]bool{}
	for _, p := range parts {
		has[workspace.TextPath(p.Path)] = true
	}
	return !slices.ContainsFunc(names, func(name string) bool { return !has[name] })
}

// below is the path of a workspace's file in the patch of several workspaces.
func below(target, relative string) string {
	prefix := strings.Trim(path.Clean("/"+target), "/")
	if prefix == "" {
		return relative
	}
	return prefix + "/" + relative
}

// Select returns the files of one workspace that were approved: all of them when nothing is named. A file is named by its
// path in the workspace or by its full path, as it is or as documents have it.
func (o *Offer) Select(target string, approve []string) ([]File, error) {
	return o.choose(target, approve, false)
}

func (o *Offer) choose(target string, approve []string, exact bool) ([]File, error) {
	var targets []string
	for _, f := range o.Files {
		if !slices.Contains(targets, f.Workspace) {
			targets = append(targets, f.Workspace)
		}
	}
	if target == "" && len(targets) > 1 {
		return nil, refuse(ReasonWorkspace, "", "the bundle changes %d workspaces (%s); choose one with --workspace", len(targets), strings.Join(targets, ", "))
	}
	if target != "" && !slices.Contains(targets, target) {
		return nil, refuse(ReasonWorkspace, target, "is not a workspace that the bundle changes; there is: %s", strings.Join(targets, ", "))
	}
	files := slices.DeleteFunc(slices.Clone(o.Files), func(f File) bool { return target != "" && f.Workspace != target })
	if len(approve) == 0 {
		return files, nil
	}
	return approved(files, approve, exact)
}

// called returns the files that a name can mean: the file that documents call so, and the file that is itself called so. There are two when
// a file has the name that documents use for another.
func called(files []File, name string) []File {
	var out []File
	for _, f := range files {
		if f.documented(name) || name == f.Path || name == path.Join(f.Workspace, f.Path) {
			out = append(out, f)
		}
	}
	return out
}

func (f File) documented(name string) bool { return name == f.Name || name == f.Full }

// approved returns the files that an approval names. With exact the names are those that a document of deed's has.
func approved(files []File, approve []string, exact bool) ([]File, error) {
	chosen := map[string]bool{}
	var reasons []evidence.ApplyReason
	say := func(name, format string, args ...any) {
		reasons = append(reasons, evidence.ApplyReason{Code: ReasonUnapproved, Path: workspace.EarlierTextPath(name), Message: fmt.Sprintf(format, args...)})
	}
	for _, name := range approve {
		meant := called(files, name)
		if i := slices.IndexFunc(meant, func(f File) bool { return f.documented(name) }); exact && i >= 0 {
			meant = meant[i : i+1]
		}
		switch len(meant) {
		case 0:
			say(name, "is approved and not part of the change")
		case 1:
			chosen[meant[0].Full] = true
		default:
			var other []string
			for _, f := range meant {
				if !f.documented(name) {
					other = append(other, f.Name)
				}
			}
			say(name, "is the name of a file of the change and stands for another that is no text (approve the first as %s, the second by its own bytes)", strings.Join(other, " "))
		}
	}
	if len(reasons) > 0 {
		return nil, &Refusal{reasons}
	}
	return slices.DeleteFunc(files, func(f File) bool { return !chosen[f.Full] }), nil
}

// WritePatch writes the parts of the patch that belong to files, in the patch's order.
func (o *Offer) WritePatch(files []File, w io.Writer) error {
	sorted := slices.SortedFunc(slices.Values(files), func(a, b File) int { return int(a.part.Start - b.part.Start) })
	for _, f := range sorted {
		if _, err := io.Copy(w, io.NewSectionReader(o.patch, f.part.Start, f.part.End-f.part.Start)); err != nil {
			return fmt.Errorf("filter the patch: %w", err)
		}
	}
	return nil
}

func names(files []File) []string {
	out := make([]string, len(files))
	for i, f := range files {
		out[i] = f.Name
	}
	return out
}
