package view

import (
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/base/plainfile"
	"github.com/deedrun/deed/internal/store"
)

// An Attempt is one attempt: what the agent claims, and the facts.
type Attempt struct {
	agentruntime.TaskAttempt
	Number    int           `json:"number"` // 1 for the first of its task
	State     string        `json:"state"`
	Live      bool          `json:"live"`
	Class     string        `json:"class"`
	Fence     int64         `json:"fence"`
	BriefHash string        `json:"brief_hash"`
	SpecHash  string        `json:"spec_hash"`
	BundleID  string        `json:"bundle_id"`
	Bundle    string        `json:"bundle"` // its directory
	Verdict   *deed.Verdict `json:"verdict"`

	Claim    *Claim         `json:"claim,omitempty"` // what the agent claims
	Error    string         `json:"error,omitempty"`
	Changes  *Changes       `json:"changes,omitempty"` // what deed found; null: there is no bundle, or not any more
	Usage    store.UsageSum `json:"usage"`
	Progress *Running       `json:"progress,omitempty"` // while it runs
}

// A Claim is what an agent says of its work. It decides nothing.
type Claim struct {
	Status        string   `json:"status"`
	MachineStatus string   `json:"machine_status,omitempty"`
	Summary       string   `json:"summary,omitempty"`
	FileChanges   []string `json:"file_changes,omitempty"`
	ArtifactPaths []string `json:"artifact_paths,omitempty"`
}

// Changes are the files that an attempt changed, as deed found them.
type Changes struct {
	Total     int       `json:"total"`
	Files     []Changed `json:"files"` // at most a thousand
	PatchSize int64     `json:"patch_bytes"`
}

// A Changed is a file that was changed.
type Changed struct {
	Path    string `json:"path"`
	Status  string `json:"status"` // added, modified, deleted, …
	Class   string `json:"class,omitempty"`
	InPatch bool   `json:"in_patch"`
}

// diagnostics are what an attempt's record says in addition to its outcome.
type diagnostics struct {
	Error string `json:"error"`
	Claim *Claim `json:"claim"`
}

func diagnosticsOf(at store.Attempt) (d diagnostics) {
	if len(at.Record.Diagnostics) > 0 {
		_ = json.Unmarshal(at.Record.Diagnostics, &d) // of another form: it says nothing here
	}
	return d
}

func verdictOf(at store.Attempt) *deed.Verdict {
	var v deed.Verdict
	if len(at.Verdict) == 0 || json.Unmarshal(at.Verdict, &v) != nil || v.Schema == "" {
		return nil
	}
	return &v
}

// BundleDir is where an attempt's bundle is; empty: it has none.
func (r *Reader) BundleDir(at store.Attempt) string {
	if at.BundleDir == "" {
		return ""
	}
	return filepath.Join(r.src.Home.Root(), at.BundleDir)
}

// AttemptOf is an attempt without what its task adds to it.
func (r *Reader) AttemptOf(at store.Attempt) Attempt {
	d := diagnosticsOf(at)
	return Attempt{
		TaskAttempt: at.Record, State: at.State, Live: at.Live, Class: at.Class, Fence: at.Fence, BriefHash: at.BriefHash, SpecHash: at.SpecHash,
		BundleID: at.BundleID, Bundle: r.BundleDir(at), Verdict: verdictOf(at), Claim: d.Claim, Error: d.Error,
	}
}

const (
	maxChanged     = 1000
	maxChangedFile = 32 << 20
)

// changes reads which files an attempt changed from its bundle.
func (r *Reader) changes(at store.Attempt) *Changes {
	if at.BundleDir == "" {
		return nil
	}
	root, err := os.OpenRoot(r.BundleDir(at))
	if err != nil {
		return nil // reclaimed by retention, or on another machine
	}
	defer func() { _ = root.Close() }()
	data, err := plainfile.ReadIn(root, evidence.PathChangedFiles, maxChangedFile)
	var doc evidence.ChangedFiles
	if err != nil || json.Unmarshal(data, &doc) != nil {
		return nil
	}
	out := &Changes{Total: len(doc.Files), Files: []Changed{}}
	for _, f := range doc.Files[:min(len(doc.Files), maxChanged)] {
		out.Files = append(out.Files, Changed{Path: f.RelativePath, Status: f.Status, Class: f.Class, InPatch: f.PatchPath != ""})
	}
	if fi, err := root.Lstat(evidence.PathPatch); err == nil && fi.Mode().IsRegular() {
		out.PatchSize = fi.Size()
	}
	return out
}
