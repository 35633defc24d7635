package gc

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/internal/agent/identity"
	"github.com/deedrun/deed/internal/agent/skill"
	"github.com/deedrun/deed/internal/base/config"
	"github.com/deedrun/deed/internal/base/filetree"
	"github.com/deedrun/deed/internal/store"
)

// TestDocumentsThatNobodyNeeds keeps versions of a skill for a task that waits, for one that ended, for no task, and for the home,
// and documents of a constitution. With a rule of retention, the old ones that nothing needs are removed.
func TestDocumentsThatNobodyNeeds(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	catalog := skill.For(b.Home, "")
	version := func(n string) *skill.Skill {
		t.Helper()
		tree, err := filetree.Of(
			filetree.File{Path: "SKILL.md", Data: []byte("---\nname: tidy\ndescription: Tidies.\n---\n" + n + "\n")},
			filetree.File{Path: "shared.txt", Data: []byte("the same in all\n")},
		)
		if err != nil {
			t.Fatal(err)
		}
		s, err := skill.Parse("tidy", tree)
		if err == nil {
			err = catalog.Keep(s)
		}
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	waits, ended, nobody, here := version("waits"), version("ended"), version("nobody"), version("here")
	if _, err := skill.Install(ctx, b.Home, here, skill.AddOptions{}); err != nil {
		t.Fatal(err)
	}
	add := func(s *skill.Skill) string {
		t.Helper()
		list, err := b.Store.Enqueue(ctx, store.NewTask{
			Intent:    agentruntime.TaskIntent{TaskType: "t", Source: "s", Payload: json.RawMessage(`{}`), Deed: &deed.TaskSpec{Skills: []deed.SkillPin{s.Pin(true)}}},
			ProfileID: config.DefaultProfile, AdapterID: "a", MaxAttempts: 1,
		})
		if err != nil {
			t.Fatal(err)
		}
		return list[0].TaskID
	}
	add(waits)
	if _, err := b.Store.Cancel(ctx, add(ended), "no", "me"); err != nil {
		t.Fatal(err)
	}
	blobs := filetree.Blobs(b.Home.Blobs())
	if _, err := b.Store.AddAgent(ctx, agentruntime.AgentIdentity{AgentID: "loom", InternalName: "loom", DisplayName: "L"}, "me"); err != nil {
		t.Fatal(err)
	}
	book := identity.Book{Store: b.Store, Home: b.Home}
	if _, _, err := book.Propose(ctx, identity.Draft{AgentID: "loom", Soul: []byte("calm"), Purpose: []byte("weave"), By: "me"}); err != nil {
		t.Fatal(err)
	}
	orphan, err := blobs.Put([]byte("of an import that was killed"))
	if err != nil {
		t.Fatal(err)
	}
	old := b.now.Add(-40 * 24 * time.Hour)
	age := func() {
		t.Helper()
		files, err := filepath.Glob(filepath.Join(b.Home.Blobs(), "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if err := os.Chtimes(f, old, old); err != nil {
				t.Fatal(err)
			}
		}
	}
	age()
	young, err := blobs.Put([]byte("of a moment ago"))
	if err != nil {
		t.Fatal(err)
	}
	goes := func(o Options) []string {
		t.Helper()
		var out []string
		for _, f := range b.sweep(t, o).Findings {
			if f.Kind == KindDocument {
				out = append(out, f.Owner)
				if !strings.Contains(f.Reason, "max_age_days (30)") || f.Bytes == 0 {
					t.Errorf("told as %+v", f)
				}
			}
		}
		slices.Sort(out)
		return out
	}
	want := []string{ended.Digest, nobody.Digest, orphan}
	slices.Sort(want)
	if got := goes(Options{Deep: true}); len(got) > 0 {
		t.Fatalf("without a rule %v goes", got)
	}
	b.Retention = config.Retention{MaxAge: 30 * 24 * time.Hour, KeepFailed: 50 * 24 * time.Hour}
	if got := b.sweep(t, Options{Deep: true}); len(got.Findings) > 0 {
		t.Fatalf("what keep_failed_days protects goes: %+v", got.Findings)
	}
	b.Retention.KeepFailed = 0
	// With more tasks than are asked nothing is removed, and the report says why; a sweep that a person started asks
	// all.
	b.MaxWaiting = 1
	var ids []string
	for range page {
		ids = append(ids, add(waits))
	}
	if got := b.sweep(t, Options{Deep: true}).Findings; len(got) != 1 || got[0].Result != ResultLeft || !strings.Contains(got[0].Reason, "more than 1 tasks have not ended") {
		t.Fatalf("with too many tasks: %+v", got)
	}
	if got := goes(Options{Deep: true, DryRun: true, Whole: true}); !slices.Equal(got, want) {
		t.Fatalf("a look at all tasks plans %v, want %v", got, want)
	}
	b.MaxWaiting = 0
	for _, id := range ids {
		if _, err := b.Store.Cancel(ctx, id, "no", "me"); err != nil {
			t.Fatal(err)
		}
	}
	if got := goes(Options{Deep: true, DryRun: true}); !slices.Equal(got, want) {
		t.Fatalf("a dry run plans %v, want %v", got, want)
	}
	if _, err := blobs.Load(ended.Digest, skill.Bounds); err != nil {
		t.Fatalf("a dry run took something: %v", err)
	}
	if got := goes(Options{Deep: true}); !slices.Equal(got, want) {
		t.Fatalf("gone is %v, want %v", got, want)
	}
	for _, s := range []*skill.Skill{waits, here} {
		if _, err := blobs.Load(s.Digest, skill.Bounds); err != nil {
			t.Errorf("a version that somebody needs: %v", err)
		}
	}
	for _, s := range []*skill.Skill{ended, nobody} {
		if blobs.Has(s.Digest) {
			t.Errorf("%s is still there", s.Digest)
		}
	}
	for _, digest := range []string{filetree.Sum([]byte("calm")), filetree.Sum([]byte("weave")), young} {
		if !blobs.Has(digest) {
			t.Errorf("document %s is gone", digest)
		}
	}
	if got := goes(Options{Deep: true}); len(got) > 0 {
		t.Errorf("a second sweep finds %v", got)
	}
	// A version that is needed again is as new.
	again := version("nobody")
	if got := goes(Options{Deep: true}); len(got) > 0 || !blobs.Has(again.Digest) {
		t.Errorf("what was needed a moment ago goes: %v", got)
	}
	age()
	if err := catalog.Keep(again); err != nil {
		t.Fatal(err)
	}
	if got := goes(Options{Deep: true}); slices.Contains(got, again.Digest) {
		t.Errorf("what was kept again goes: %v", got)
	}
	if _, err := blobs.Load(again.Digest, skill.Bounds); err != nil {
		t.Error(err)
	}
}
