package workspace

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// The stored form of a manifest. Paths and targets are in the form of EncodePath. "id" is what a later snapshot
// recognises an unchanged file by (device, inode, ctime and mtime in nanoseconds); readers other than Snapshot have
// no use for it.
type (
	manifestJSON struct {
		Schema  string       `json:"schema"`
		Digest  string       `json:"digest"`
		Start   string       `json:"start,omitempty"` // nanoseconds of the file system's clock, and the margin
		Entries []entryJSON  `json:"entries"`
		Git     []gitDirJSON `json:"git,omitempty"`
	}
	entryJSON struct {
		Path       string `json:"path"`
		Kind       Kind   `json:"kind"`
		Mode       string `json:"mode,omitempty"` // octal
		Size       int64  `json:"size,omitempty"`
		SHA256     Hash   `json:"sha256,omitzero"`
		Target     string `json:"target,omitempty"`
		Unreadable bool   `json:"unreadable,omitempty"`
		UID        uint32 `json:"uid"`
		GID        uint32 `json:"gid"`
		ID         string `json:"id,omitempty"`
	}
	gitDirJSON struct {
		Path   string `json:"path"`
		Kind   Kind   `json:"kind"`
		Files  int    `json:"files"`
		SHA256 Hash   `json:"sha256,omitzero"`
	}
	changeJSON struct {
		Path      string  `json:"path"`
		Status    Status  `json:"status"`
		Class     Class   `json:"class"`
		Reason    Reason  `json:"reason,omitempty"`
		Before    *Entry  `json:"before,omitempty"`
		After     *Entry  `json:"after,omitempty"`
		BeforeGit *GitDir `json:"before_git,omitempty"`
		AfterGit  *GitDir `json:"after_git,omitempty"`
	}
)

// MarshalText returns lower-case hex.
func (h Hash) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, h[:]), nil }

// UnmarshalText reads 64 hex digits.
func (h *Hash) UnmarshalText(b []byte) error {
	if len(b) != 2*len(h) {
		return fmt.Errorf("a SHA-256 digest has %d hex digits, not %d", 2*len(h), len(b))
	}
	_, err := hex.Decode(h[:], b)
	return err
}

// MarshalJSON writes the entry with its path in the form of EncodePath.
func (e Entry) MarshalJSON() ([]byte, error) { return json.Marshal(e.stored()) }

func (e *Entry) stored() entryJSON {
	j := entryJSON{
		Path: EncodePath(e.Path), Kind: e.Kind, Size: e.Size, SHA256: e.SHA256, Target: EncodePath(e.Target),
		Unreadable: e.Unreadable, UID: e.UID, GID: e.GID,
	}
	if e.Kind != KindSymlink {
		j.Mode = fmt.Sprintf("%04o", e.Mode)
	}
	if e.id.Ino != 0 {
		j.ID = fmt.Sprintf("%d:%d:%d:%d", e.id.Dev, e.id.Ino, e.id.Ctime, e.id.Mtime)
	}
	return j
}

// UnmarshalJSON reads what MarshalJSON wrote and refuses a path that no tree has.
func (e *Entry) UnmarshalJSON(b []byte) error {
	var j entryJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	return e.load(&j)
}

func (e *Entry) load(j *entryJSON) error {
	path, err := DecodePath(j.Path)
	if err != nil {
		return err
	}
	bad := func(err error) error { return fmt.Errorf("entry %s: %w", quotePath(path), err) }
	if err := validRelative(path); err != nil {
		return bad(err)
	}
	*e = Entry{Path: path, Kind: j.Kind, Size: j.Size, SHA256: j.SHA256, Unreadable: j.Unreadable, UID: j.UID, GID: j.GID}
	if e.Target, err = DecodePath(j.Target); err != nil {
		return bad(err)
	}
	switch j.Kind {
	case KindFile, KindSymlink, KindDir, KindFIFO, KindSocket, KindDevice:
	default:
		return bad(fmt.Errorf("kind %q is not known", j.Kind))
	}
	if j.Mode != "" {
		mode, err := strconv.ParseUint(j.Mode, 8, 12)
		if err != nil {
			return bad(fmt.Errorf("mode: %w", err))
		}
		e.Mode = uint32(mode)
	}
	if j.Size < 0 {
		return bad(fmt.Errorf("size %d is negative", j.Size))
	}
	if j.ID != "" {
		if _, err := fmt.Sscanf(j.ID, "%d:%d:%d:%d", &e.id.Dev, &e.id.Ino, &e.id.Ctime, &e.id.Mtime); err != nil {
			return bad(fmt.Errorf("id %q: %w", j.ID, err))
		}
	}
	return nil
}

// MarshalJSON writes the repository's digest with its path in the form of EncodePath.
func (g GitDir) MarshalJSON() ([]byte, error) {
	return json.Marshal(gitDirJSON{EncodePath(g.Path), g.Kind, g.Files, g.SHA256})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (g *GitDir) UnmarshalJSON(b []byte) error {
	var j gitDirJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	path, err := DecodePath(j.Path)
	if err != nil {
		return err
	}
	if err := validRelative(path); err != nil {
		return fmt.Errorf("repository %s: %w", quotePath(path), err)
	}
	*g = GitDir{path, j.Kind, j.Files, j.SHA256}
	return nil
}

// MarshalJSON writes the change with its path in the form of EncodePath.
func (c Change) MarshalJSON() ([]byte, error) {
	return json.Marshal(changeJSON{EncodePath(c.Path), c.Status, c.Class, c.Reason, c.Before, c.After, c.BeforeGit, c.AfterGit})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (c *Change) UnmarshalJSON(b []byte) error {
	var j changeJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	path, err := DecodePath(j.Path)
	if err != nil {
		return err
	}
	*c = Change{path, j.Status, j.Class, j.Reason, j.Before, j.After, j.BeforeGit, j.AfterGit}
	return nil
}

// MarshalJSON writes the manifest so that UnmarshalJSON gives an equal one.
func (m *Manifest) MarshalJSON() ([]byte, error) {
	j := manifestJSON{Schema: manifestSchema, Digest: m.Digest(), Entries: make([]entryJSON, len(m.Entries))}
	if m.fsStart != 0 {
		j.Start = fmt.Sprintf("%d:%d", m.fsStart, m.margin)
	}
	for i := range m.Entries {
		j.Entries[i] = m.Entries[i].stored()
	}
	for _, g := range m.Git {
		j.Git = append(j.Git, gitDirJSON{EncodePath(g.Path), g.Kind, g.Files, g.SHA256})
	}
	return json.Marshal(j)
}

// UnmarshalJSON reads a stored manifest and checks that its paths are in order and that its digest is its own.
func (m *Manifest) UnmarshalJSON(b []byte) error {
	if err := m.unmarshal(b); err != nil {
		return &Error{Code: ErrManifest, Op: "read manifest", Err: err}
	}
	return nil
}

func (m *Manifest) unmarshal(b []byte) error {
	var j manifestJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	if j.Schema != manifestSchema {
		return fmt.Errorf("schema is %q instead of %q", j.Schema, manifestSchema)
	}
	got := Manifest{Entries: make([]Entry, len(j.Entries))}
	if j.Start != "" {
		if _, err := fmt.Sscanf(j.Start, "%d:%d", &got.fsStart, &got.margin); err != nil {
			return fmt.Errorf("start %q: %w", j.Start, err)
		}
	}
	for i := range j.Entries {
		if err := got.Entries[i].load(&j.Entries[i]); err != nil {
			return err
		}
		if i > 0 && strings.Compare(got.Entries[i-1].Path, got.Entries[i].Path) >= 0 {
			return fmt.Errorf("entry %s is out of order", quotePath(got.Entries[i].Path))
		}
	}
	for _, g := range j.Git {
		path, err := DecodePath(g.Path)
		if err != nil {
			return err
		}
		if err := validRelative(path); err != nil {
			return fmt.Errorf("repository %s: %w", quotePath(path), err)
		}
		got.Git = append(got.Git, GitDir{path, g.Kind, g.Files, g.SHA256})
	}
	if got.Digest() != j.Digest {
		return errors.New("its digest is not that of its entries")
	}
	m.Entries, m.Git, m.gitEntries, m.fsStart, m.margin = got.Entries, got.Git, nil, got.fsStart, got.margin
	m.digest.Store(&j.Digest)
	return nil
}
