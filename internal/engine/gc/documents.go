package gc

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/skill"
	"github.com/deedrun/deed/internal/base/crashpoint"
	"github.com/deedrun/deed/internal/base/filetree"
	"github.com/deedrun/deed/internal/store"
)

// maxWaiting is how many tasks a sweep asks for their documents while the queue waits. With more of them nothing is given up.
const maxWaiting = 100_000

// A version is a document that nothing needs, with the documents that only it needs.
type version struct {
	digest string
	files  []string // besides itself
	bytes  int64
}

// documents gives up documents in blobs/ that nothing needs: no task that has not ended, no constitution or proposal, no installed skill,
// and no ended task that the rule of retention still keeps. Without max_age_days all are kept.
func (s *sweep) documents(ctx context.Context) error {
	if s.Retention.MaxAge <= 0 {
		return nil
	}
	f, list, err := s.inside(s.Home.Blobs())
	if f == nil {
		return err
	}
	_ = f.Close()
	age := max(s.Retention.MaxAge, s.Retention.KeepFailed)
	old := map[string]int64{} // the sizes, by digest
	for _, e := range list {
		if fi, err := e.Info(); err == nil && fi.Mode().IsRegular() && isDigest(e.Name()) && s.old(fi, age) {
			old["sha256:"+e.Name()] = fi.Size()
		}
	}
	if len(old) == 0 {
		return nil
	}
	known, err := s.needed(ctx, old)
	if err != nil || len(old) == 0 {
		return err
	}
	if !known {
		why := fmt.Sprintf("more than %d tasks have not ended, and may need some of %d old documents (stop deed serve for a moment and run deed cleanup, which asks all of them)", s.maxWaiting(), len(old))
		s.leave(Finding{Kind: KindDocument, Path: s.Home.Blobs(), Reason: why})
		s.Log.Warn("no documents are given up", "reason", why) // no one reads the findings of a dispatcher's own sweep
		return nil
	}
	reason := fmt.Sprintf("nothing needs it, and nobody has for longer than max_age_days (%d)", int(age/(24*time.Hour)))
	var gone []string
	var freed int64
	for _, v := range s.versions(old) {
		found := Finding{Kind: KindDocument, Path: s.blob(v.digest), Owner: v.digest, Bytes: v.bytes, Reason: reason, Action: ActionRemove}
		if s.do(found, func() error { return s.giveUp(v, age) }) {
			gone, freed = append(gone, v.digest), freed+v.bytes
		}
	}
	if len(gone) == 0 {
		return nil
	}
	detail, err := json.Marshal(map[string]any{"count": len(gone), "bytes": freed, "what": "documents", "owners": gone[:min(len(gone), 100)]})
	if err != nil {
		return err
	}
	return s.Store.Append(ctx, store.Event{Type: EventRetention, At: s.Clock(), Detail: detail})
}

// needed takes everything out of the list that somebody needs. It reports false when that cannot be known.
func (s *sweep) needed(ctx context.Context, old map[string]int64) (bool, error) {
	named, err := s.Store.Documents(ctx)
	if err != nil {
		return false, err
	}
	for digest := range named {
		delete(old, digest)
	}
	blobs := filetree.Blobs(s.Home.Blobs())
	keep := func(digest string) {
		if _, there := old[digest]; !there {
			return // the files of a young tree are young, and one that was looked at is looked at once
		}
		entries, _ := blobs.List(digest)
		delete(old, digest)
		for _, e := range entries {
			delete(old, e.SHA256)
		}
	}
	installed, err := skill.For(s.Home, "").List()
	if err != nil {
		return false, err
	}
	for _, f := range installed {
		if f.Skill != nil {
			keep(f.Skill.Digest)
		}
	}
	if len(old) == 0 {
		return true, nil
	}
	return s.pinned(ctx, func(digest string) bool {
		keep(digest)
		return len(old) > 0
	})
}

func (s *sweep) maxWaiting() int { return cmp.Or(s.MaxWaiting, maxWaiting) }

// pinned visits every version that a task which has not ended was admitted with, for as long as visit wants more. It reports false when
// there are too many tasks. It holds one page of them at a time, and goes from the newest to the oldest, so that it ends while others come.
func (s *sweep) pinned(ctx context.Context, visit func(digest string) bool) (bool, error) {
	states := []agentruntime.TaskStatus{agentruntime.TaskPending, agentruntime.TaskRunning, agentruntime.TaskRetryableFailure, agentruntime.TaskBlocked}
	before := ""
	for seen := 0; s.Whole || seen < s.maxWaiting(); seen += page {
		list, err := s.Store.Tasks(ctx, store.TaskFilter{Status: states, Limit: page, Before: before})
		if err != nil {
			return false, err
		}
		for _, t := range list {
			before = t.ID()
			if t.Damage != "" { // what it needs is unknown
				return false, errors.New(t.Damage)
			}
			if t.Intent.Deed == nil {
				continue
			}
			for _, p := range t.Intent.Deed.Skills {
				if !visit(p.Digest) {
					return true, nil
				}
			}
		}
		if len(list) < page {
			return true, nil
		}
	}
	return false, nil
}

// versions groups what goes: each tree with the files that no other has claimed, then the rest one by one.
func (s *sweep) versions(old map[string]int64) []version {
	blobs := filetree.Blobs(s.Home.Blobs())
	var out []version
	rest := map[string]bool{}
	for digest := range old {
		rest[digest] = true
	}
	digests := make([]string, 0, len(old))
	for digest := range old {
		digests = append(digests, digest)
	}
	slices.Sort(digests)
	for _, trees := range []bool{true, false} {
		for _, digest := range digests {
			entries, isTree := blobs.List(digest)
			if !rest[digest] || isTree != trees {
				continue
			}
			delete(rest, digest)
			v := version{digest: digest, bytes: old[digest]}
			for _, e := range entries {
				if rest[e.SHA256] {
					delete(rest, e.SHA256)
					v.files, v.bytes = append(v.files, e.SHA256), v.bytes+old[e.SHA256]
				}
			}
			out = append(out, v)
		}
	}
	return out
}

// giveUp removes a version, the list of its files first: a tree whose list is there is complete. A crash leaves files that nothing
// needs, for the next sweep.
func (s *sweep) giveUp(v version, age time.Duration) error {
	for i, digest := range append([]string{v.digest}, v.files...) {
		kept, err := s.removeBlob(digest, age)
		if err != nil {
			return err
		}
		if kept && i == 0 {
			return nil // a task was admitted with it in this moment
		}
		if i == 0 {
			crashpoint.Hit(crashpoint.DocumentRemoved)
		}
	}
	return nil
}

// removeBlob takes the name of a document away and checks its age again: an admission that found it has made it young, and a later
// one writes it again.
func (s *sweep) removeBlob(digest string, age time.Duration) (kept bool, err error) {
	path := s.blob(digest)
	hidden := filepath.Join(s.Home.Blobs(), "."+filepath.Base(path)+".gone.tmp")
	if err := os.Rename(path, hidden); errors.Is(err, os.ErrNotExist) {
		return false, nil
	} else if err != nil {
		return false, fmt.Errorf("remove a document: %w", err)
	}
	crashpoint.Hit(crashpoint.DocumentHidden)
	fi, err := os.Lstat(hidden)
	if err == nil && !s.old(fi, age) {
		return true, os.Rename(hidden, path)
	}
	if err := os.Remove(hidden); err != nil && !errors.Is(err, os.ErrNotExist) {
		return false, fmt.Errorf("remove a document: %w", err)
	}
	return false, nil
}

func (s *sweep) blob(digest string) string {
	return filepath.Join(s.Home.Blobs(), strings.TrimPrefix(digest, "sha256:"))
}

// isDigest reports whether a file has the name of a document.
func isDigest(name string) bool {
	return len(name) == 64 && strings.Trim(name, "0123456789abcdef") == ""
}
