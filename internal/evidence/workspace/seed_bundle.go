package workspace

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/base/atomicfile"
	"github.com/deedrun/deed/internal/base/plainfile"
	"github.com/deedrun/deed/internal/evidence/bundle"
)

// maxChangeList bounds the change list of a bundle that is seeded from.
const maxChangeList = 64 << 20

// applyBundle puts the change of a bundle on top of the base at dst. The bundle is verified first; what is applied are
// the bytes that were verified, and what comes out must be what the bundle's change list says.
func applyBundle(ctx context.Context, dir, dst string) (id string, notes []Note, err error) {
	rep, err := verified(dir)
	if err != nil {
		return "", nil, bundleError(dir, err)
	}
	tmp, done, err := atomicfile.Scratch("bundle")
	if err != nil {
		return "", nil, err
	}
	defer done()
	patch := filepath.Join(tmp, "patch.diff")
	list, err := takeVerified(dir, rep, patch)
	if err != nil {
		return "", nil, bundleError(dir, err)
	}
	if err := Apply(ctx, dst, patch); err != nil {
		if errors.Is(err, ErrApply) {
			err = bundleError(dir, fmt.Errorf("the patch does not fit the source: %w", err))
		}
		return "", nil, err
	}
	names, err := listedPaths(patch, list)
	if err != nil {
		return "", nil, bundleError(dir, err)
	}
	notes, err = asListed(dst, list, names)
	if err != nil {
		return "", nil, bundleError(dir, err)
	}
	return rep.Manifest.ID, notes, nil
}

// CheckBundle says why a workspace cannot be seeded from a bundle, as far as the bundle itself shows.
func CheckBundle(dir string) error {
	_, err := verified(dir)
	return err
}

func verified(dir string) (bundle.Verification, error) {
	rep, err := bundle.Verify(dir, bundle.VerifyOptions{})
	if err == nil && !rep.Valid {
		err = violations(rep)
	}
	return rep, err
}

func bundleError(dir string, err error) error {
	return &Error{Code: ErrSource, Op: "use bundle", Path: dir, Err: err, Remedy: "give a bundle that verifies, and the source that it was made from"}
}

func violations(rep bundle.Verification) error {
	var b strings.Builder
	for i, v := range rep.Violations {
		if i == 5 {
			fmt.Fprintf(&b, "; and %d more", len(rep.Violations)-i)
			break
		}
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(v.Code + ": " + v.Message)
	}
	return errors.New("it does not verify: " + b.String())
}

// takeVerified copies the patch out of the bundle and reads the change list, and makes sure that both still have the
// digests that were verified: a bundle is someone else's directory.
func takeVerified(dir string, rep bundle.Verification, patch string) ([]evidence.ChangedFile, error) {
	want := map[string]string{}
	for _, f := range rep.Manifest.Files {
		if f.SHA256 != nil {
			want[f.Path] = f.SHA256.Value
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	out, err := os.OpenFile(patch, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	err = errors.Join(take(root, evidence.PathPatch, want, maxPatch, out), out.Close())
	var text bytes.Buffer
	if err == nil {
		err = take(root, evidence.PathChangedFiles, want, maxChangeList, &text)
	}
	var doc evidence.ChangedFiles
	if err == nil {
		err = json.Unmarshal(text.Bytes(), &doc)
	}
	return doc.Files, err
}

func take(root *os.Root, name string, want map[string]string, limit int64, to io.Writer) error {
	f, err := plainfile.OpenIn(root, name)
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(to, h), io.LimitReader(f, limit+1))
	switch {
	case err != nil:
		return err
	case n > limit:
		return fmt.Errorf("%s has more than %d bytes", name, limit)
	case hex.EncodeToString(h.Sum(nil)) != want[name]:
		return fmt.Errorf("%s is no longer the one that was verified", name)
	}
	return nil
}

// listedPaths returns the paths that the entries of a change list are about, as the patch has them.
func listedPaths(patch string, list []evidence.ChangedFile) ([]string, error) {
	f, err := os.Open(patch)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	parts, err := SplitPatch(f)
	if err != nil && !errors.Is(err, ErrApply) { // git took it; the names of the list have to do
		return nil, err
	}
	many := false
	for _, f := range list {
		many = many || f.MountTarget != list[0].MountTarget
	}
	paths := make([]string, len(list))
	for i, f := range list {
		paths[i] = f.RelativePath
		if many {
			paths[i] = strings.TrimPrefix(f.Path, "/")
		}
	}
	of, _ := PairParts(paths, parts)
	for i, at := range of {
		if at >= 0 {
			paths[i] = parts[at].Path
		} else {
			paths[i] = FromTextPath(paths[i])
		}
	}
	return paths, nil
}

// asListed compares the patched tree with the change list: a patch in which a secret was replaced, or that was made
// for another base, applies and gives something else. Digests of bundles that deed did not make are over the text with
// its line ends normalised.
func asListed(dst string, list []evidence.ChangedFile, paths []string) ([]Note, error) {
	root, err := os.OpenRoot(dst)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var notes []Note
	var off []string
	for i, f := range list {
		if f.PatchPath == "" && f.Class != "" {
			continue // listed, and not in the patch
		}
		p := paths[i]
		text, isLink, err := readEntry(root, p)
		switch {
		case err != nil:
			off = append(off, fmt.Sprintf("%s: %v", quotePath(p), err))
		case f.AfterSHA256 == "" && f.Status != evidence.ChangeDeleted:
			off = append(off, quotePath(p)+" has no afterSha256 in the change list to compare with")
		case !sameDigest(text, f.AfterSHA256):
			off = append(off, quotePath(p)+" is not what the bundle says")
		case isLink && LeavesTree(p, string(text)):
			notes = append(notes, Note{TextPath(p), NoteLinkOutside, "points to " + quotePath(string(text))})
		}
	}
	if len(off) > 0 {
		return nil, errors.New("the patched source is another tree: " + strings.Join(off[:min(len(off), 5)], "; "))
	}
	return notes, nil
}

// readEntry returns the content of a file or the target of a link; nil for what is not there.
func readEntry(root *os.Root, p string) (text []byte, isLink bool, err error) {
	st, err := root.Lstat(filepath.FromSlash(p))
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
		return nil, false, nil
	case err != nil:
		return nil, false, err
	case st.Mode()&fs.ModeSymlink != 0:
		target, err := root.Readlink(filepath.FromSlash(p))
		return []byte(target), true, err
	case st.IsDir():
		return nil, false, nil // a file that became a directory is a deletion to git
	case !st.Mode().IsRegular() || st.Size() > MaxPatchFile:
		return nil, false, errors.New("it is no file that a patch can carry")
	}
	text, err = root.ReadFile(filepath.FromSlash(p))
	if text == nil {
		text = []byte{}
	}
	return text, false, err
}

func sameDigest(text []byte, want string) bool {
	if text == nil || want == "" {
		return text == nil && want == ""
	}
	if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) == want {
		return true
	}
	sum := sha256.Sum256(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")))
	return hex.EncodeToString(sum[:]) == want
}
