package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/base/atomicfile"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

// The states of a record. Applying and undoing are open: files may be half changed.
const (
	stateApplying = "applying"
	stateApplied  = "applied"
	stateUndoing  = "undoing"
	stateUndone   = "undone"
)

const recordSchema = "deed/apply-record/v1"

// A record is the journal of one apply: what every file was, what it is to be, and where. Next to it are the previous
// contents, one file each.
type record struct {
	identity                          // of the target
	Schema     string                 `json:"schema"`
	ID         string                 `json:"id"`
	State      string                 `json:"state"`
	At         string                 `json:"at"`
	ArtifactID string                 `json:"artifact_id"`
	Bundle     string                 `json:"bundle"`
	Target     evidence.ApplyTarget   `json:"target"`
	Approver   string                 `json:"approver"`
	Files      []recordFile           `json:"files"`
	Made       []string               `json:"made,omitempty"` // directories, encoded like paths, parents first
	Dirs       map[string]fs.FileMode `json:"dirs,omitempty"`
	PatchSHA   string                 `json:"patch_sha256,omitempty"`
}

// A recordFile is one file. Path is in the form of workspace.EncodePath.
type recordFile struct {
	Path   string      `json:"path"`
	Name   string      `json:"name"`
	Before Side        `json:"before"`
	After  Side        `json:"after"`
	Perm   fs.FileMode `json:"perm,omitempty"` // before
	UID    int         `json:"uid,omitempty"`
	GID    int         `json:"gid,omitempty"`
	Target string      `json:"target,omitempty"` // of a link, encoded
}

func (r *record) names() []string {
	out := make([]string, len(r.Files))
	for i, f := range r.Files {
		out[i] = f.Name
	}
	return out
}

// stageDir is the name of the stage in the target.
func (r *record) stageDir() string { return ".deed-apply-" + r.ID }

// A journal is a record and the directory that holds it.
type journal struct {
	record
	dir string
}

func (a *Applier) openDir() string   { return filepath.Join(a.Home.Applies(), "open") }
func (a *Applier) doneDir() string   { return filepath.Join(a.Home.Applies(), "done") }
func (a *Applier) stagedDir() string { return filepath.Join(a.Home.Applies(), "staged") }

// begin writes the journal: from its return on, whatever happens to this process, the files can be put back.
func (a *Applier) begin(ctx context.Context, r record, t *site, p *plan) (_ *journal, err error) {
	for _, d := range []string{a.openDir(), a.doneDir()} {
		if err := atomicfile.MkdirAll(d, 0o700); err != nil {
			return nil, err
		}
	}
	tmp, release, err := a.draft()
	if err != nil {
		return nil, atomicfile.Explain("write the journal", err)
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(tmp)
		}
		release()
	}()
	r.Schema, r.State, r.Dirs = recordSchema, stateApplying, map[string]fs.FileMode{}
	for d, perm := range p.dirs {
		r.Dirs[workspace.EncodePath(d)] = perm
	}
	for _, d := range p.made {
		r.Made = append(r.Made, workspace.EncodePath(d))
	}
	for i, st := range p.steps {
		r.Files = append(r.Files, recordFile{
			Path: workspace.EncodePath(st.Path), Name: st.Name, Before: st.Before, After: st.After,
			Perm: st.was.Perm, UID: st.was.UID, GID: st.was.GID, Target: workspace.EncodePath(st.was.Target),
		})
		if err := keep(t, st, blob(tmp, i)); err != nil {
			return nil, err
		}
	}
	if err := writeRecord(tmp, r); err != nil {
		return nil, err
	}
	j := &journal{record: r, dir: filepath.Join(a.openDir(), r.ID)}
	return j, atomicfile.PublishDir(ctx, tmp, j.dir)
}

// draft makes the place where a journal is written, before anything is changed. Its name says that it is not complete, and its lock
// whether a process is working on it. What a killed apply left there is not needed, and the next cleanup removes it.
func (a *Applier) draft() (dir string, release func(), err error) {
	if err := os.MkdirAll(a.Home.Tmp(), 0o700); err != nil {
		return "", nil, err
	}
	dir, release, err = atomicfile.TempDir(a.Home.Tmp(), ".apply-*.tmp")
	if err != nil {
		return "", nil, err
	}
	if err := os.Mkdir(filepath.Join(dir, "before"), 0o700); err != nil {
		_ = os.Remove(dir)
		release()
		return "", nil, err
	}
	return dir, release, nil
}

func blob(dir string, i int) string { return filepath.Join(dir, "before", fmt.Sprint(i)) }

// keep copies what a step replaces.
func keep(t *site, st step, to string) error {
	if st.Before.absent() || st.Before.Mode == linkMode {
		return nil
	}
	f, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return atomicfile.Explain("write the journal", err)
	}
	sum, err := t.copyOut(st.Path, f)
	if err = errors.Join(err, f.Close()); err != nil {
		return atomicfile.Explain("write the journal", err)
	}
	if sum != st.Before.SHA256 {
		return refuse(ReasonDrift, st.Name, "changed while it was read")
	}
	return nil
}

func writeRecord(dir string, r record) error {
	text, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	return atomicfile.WriteFile(filepath.Join(dir, "record.json"), text, 0o600)
}

func readJournal(dir string) (*journal, error) {
	text, err := os.ReadFile(filepath.Join(dir, "record.json"))
	if err != nil {
		return nil, fmt.Errorf("read the journal: %w", err)
	}
	j := &journal{dir: dir}
	if err := json.Unmarshal(text, &j.record); err != nil {
		return nil, fmt.Errorf("read the journal %s: %w", dir, err)
	}
	if j.Schema != recordSchema {
		return nil, fmt.Errorf("read the journal %s: schema %q is not known to this deed", dir, j.Schema)
	}
	return j, nil
}

func (j *journal) mark(state string) error {
	j.State = state
	return writeRecord(j.dir, j.record)
}

// move gives the journal its place among the open or the finished ones.
func (j *journal) move(to string) error {
	final := filepath.Join(to, j.ID)
	if final == j.dir {
		return nil
	}
	if err := atomicfile.RenameDir(j.dir, final); err != nil {
		return err
	}
	from := filepath.Dir(j.dir)
	j.dir = final
	return atomicfile.SyncDir(from)
}

// restore puts every file back to what it was before. Each must be as it was before or as the apply left it: a *Refusal
// names those that somebody else changed, and then nothing is touched. It can be cut short and run again.
func (j *journal) restore(t *site) error {
	paths := make([]string, len(j.Files))
	todo := make([]bool, len(j.Files))
	links, err := j.links()
	if err != nil {
		return err
	}
	var reasons []evidence.ApplyReason
	for i, f := range j.Files {
		if paths[i], err = workspace.DecodePath(f.Path); err != nil {
			return err
		}
		now, err := t.look(paths[i])
		if err != nil {
			return fmt.Errorf("read %s: %w", Shown(f.Name), err)
		}
		switch {
		case now.behind != "" && !links[now.behind]:
			reasons = append(reasons, linked(f, now))
		case now.is(f.Before):
		case now.is(f.After):
			todo[i] = true
		default:
			reasons = append(reasons, evidence.ApplyReason{Code: ReasonChangedSince, Path: f.Name, Message: "is neither what it was nor what the apply made of it"})
		}
	}
	if err := refused(reasons); err != nil {
		return err
	}
	for i, f := range j.Files {
		if todo[i] && f.Before.absent() {
			if err := t.root.Remove(filepath.FromSlash(paths[i])); err != nil {
				return fmt.Errorf("take out %s: %w", Shown(f.Name), err)
			}
		}
	}
	for _, d := range slices.Backward(j.Made) {
		dir, err := workspace.DecodePath(d)
		if err != nil {
			return err
		}
		// There may be the file that the directory was to replace. A directory with other content stays.
		if fi, err := t.root.Lstat(filepath.FromSlash(dir)); err == nil && fi.IsDir() {
			_ = t.root.Remove(filepath.FromSlash(dir))
		}
	}
	for i := range j.Files {
		if todo[i] && !j.Files[i].Before.absent() {
			if err := j.putBack(t, i, paths[i]); err != nil {
				return fmt.Errorf("put back %s: %w", Shown(j.Files[i].Name), err)
			}
		}
	}
	return t.sync(paths)
}

// putBack writes one file in the stage and renames it to its place.
func (j *journal) putBack(t *site, i int, p string) error {
	f := j.Files[i]
	if err := j.directories(t, p); err != nil {
		return err
	}
	if err := t.root.Mkdir(j.stageDir(), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	tmp := filepath.Join(j.stageDir(), fmt.Sprintf("restore-%d", i))
	if err := t.root.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	was := state{UID: f.UID, GID: f.GID}
	if f.Before.Mode == linkMode {
		target, err := workspace.DecodePath(f.Target)
		if err == nil {
			err = t.root.Symlink(target, tmp)
		}
		if err != nil {
			return err
		}
	} else if err := j.writeBlob(t, i, tmp); err != nil {
		return err
	}
	if err := chown(t.root, tmp, was); err != nil {
		return err
	}
	return t.root.Rename(tmp, filepath.FromSlash(p))
}

func (j *journal) writeBlob(t *site, i int, to string) error {
	data, err := os.Open(blob(j.dir, i))
	if err != nil {
		return err
	}
	defer data.Close()
	f, err := t.root.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.ReadFrom(data)
	if err == nil {
		err = f.Chmod(j.Files[i].Perm)
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// directories makes the parents of a path that went with their last file, with the permissions they had.
func (j *journal) directories(t *site, p string) error {
	at := ""
	for part := range strings.SplitSeq(filepath.Dir(filepath.FromSlash(p)), string(filepath.Separator)) {
		if part == "." {
			return nil
		}
		at = filepath.Join(at, part)
		err := t.root.Mkdir(at, 0o700)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return err
		}
		perm, ok := j.Dirs[workspace.EncodePath(filepath.ToSlash(at))]
		if !ok {
			perm = 0o755
		}
		if err := t.root.Chmod(at, perm); err != nil {
			return err
		}
	}
	return nil
}

// sync makes the names of changed files durable.
func (t *site) sync(paths []string) error {
	dirs := map[string]bool{".": true}
	for _, p := range paths {
		dirs[filepath.Dir(filepath.FromSlash(p))] = true
	}
	for d := range dirs {
		f, err := t.root.Open(d)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it went with its last file
		}
		if err == nil {
			err = errors.Join(f.Sync(), f.Close())
		}
		if err != nil {
			return atomicfile.Explain("sync "+Shown(d), err)
		}
	}
	return nil
}
