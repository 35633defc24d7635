package promote

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/evidence/apply"
	"github.com/deedrun/deed/internal/evidence/bundle"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

// maxDocument bounds a document of a bundle that is read whole.
const maxDocument = 64 << 20

// choose reads every candidate and takes the one that is meant. A single bundle that is refused keeps its own reasons; of
// several, those that may not be promoted are no candidates.
func (j *job) choose() error {
	var found []candidate
	var refused []evidence.ApplyReason
	defer func() {
		for _, c := range found {
			if c.offer != j.offer {
				c.offer.Close()
			}
		}
	}()
	for i, dir := range j.Bundles {
		c, err := j.read(dir, filepath.Join(j.dir, fmt.Sprintf("candidate-%d.diff", i)))
		var r *apply.Refusal
		switch {
		case errors.As(err, &r):
			refused = append(refused, r.Reasons...)
		case err != nil:
			return err
		default:
			found = append(found, c)
		}
	}
	if len(found) == 0 {
		return &apply.Refusal{Reasons: refused}
	}
	chosen, err := j.pick(found)
	if err != nil {
		return err
	}
	if err := j.claimed(chosen); err != nil {
		return err
	}
	j.offer, j.files, j.patch, j.noOp = chosen.offer, chosen.files, chosen.patch, chosen.noOp
	j.report.Candidate, j.report.Base.Recorded = chosen.report, chosen.commit
	if len(j.files) == 0 && !j.noOp {
		return refuse(ReasonEmpty, "", "the patch is empty, and the verdict does not say that nothing had to be changed")
	}
	return nil
}

// pick takes the one candidate, or the one with the patch that was asked for. Bundles with the same patch are one candidate:
// the last of them.
func (j *job) pick(found []candidate) (candidate, error) {
	byPatch := map[string]candidate{}
	for _, c := range found {
		byPatch[c.report.SHA256] = c
	}
	for _, c := range found {
		if byPatch[c.report.SHA256].offer == c.offer {
			j.rivals = append(j.rivals, c.report)
		}
	}
	if want := strings.ToLower(j.Patch); want != "" {
		c, ok := byPatch[want]
		if !ok {
			return c, refuse(ReasonHash, "", "no candidate has the patch %s; there is: %s", want, j.hashes())
		}
		return c, nil
	}
	if len(byPatch) > 1 {
		return candidate{}, refuse(ReasonAmbiguous, "", "%d patches could be meant; choose one with --patch: %s", len(byPatch), j.hashes())
	}
	return byPatch[found[0].report.SHA256], nil
}

func (j *job) hashes() string {
	var out []string
	for _, c := range j.rivals {
		out = append(out, fmt.Sprintf("%s (attempt %s, %d files)", c.SHA256, c.AttemptID, len(c.Files)))
	}
	return strings.Join(out, ", ")
}

// A candidate is a verified change with its patch.
type candidate struct {
	offer  *apply.Offer
	files  []apply.File
	patch  string
	noOp   bool
	commit string // that the agent began with; "" when the bundle does not say
	report homeboy.PromotionCandidate
}

// read verifies a bundle, demands that a trusted key signed it and a gate accepted it, and writes its patch to a file.
func (j *job) read(dir, patch string) (c candidate, err error) {
	c.patch = patch
	if c.offer, err = apply.Read(dir, bundle.VerifyOptions{TrustedKeys: j.Keys}); err != nil {
		return c, err
	}
	defer func() {
		if err != nil {
			c.offer.Close()
		}
	}()
	if err := c.offer.Trusted(); err != nil {
		return c, err
	}
	if c.files, err = c.offer.Select("", nil); err != nil {
		return c, err
	}
	if err := c.documents(); err != nil {
		return c, err
	}
	v := c.offer.Verification
	c.report = homeboy.PromotionCandidate{
		Bundle: v.Manifest.ID, TaskID: v.Statement.TaskID, AttemptID: v.Statement.AttemptID, Verdict: v.Statement.Verdict, KeyID: v.Signature.KeyID, Files: []string{},
	}
	for _, f := range c.files {
		c.report.Files = append(c.report.Files, j.Redact.String(f.Name))
	}
	return c, c.write()
}

// documents reads what the bundle says of its base and of its verdict. A bundle of another maker may have neither.
func (c *candidate) documents() error {
	var meta struct {
		Provenance struct {
			Workspace struct {
				Commit string `json:"commit"`
			} `json:"workspace"`
		} `json:"provenance"`
	}
	var verdict deed.Verdict
	m := c.offer.Verification.Manifest
	for path, to := range map[string]any{evidence.PathMetadata: &meta, bundle.PathVerdict: &verdict} {
		if bundle.ListedFile(m, path) == nil {
			continue
		}
		var text bytes.Buffer
		if err := bundle.CopyContent(c.offer.Dir, m, path, maxDocument, &text); err != nil {
			return err
		}
		if err := json.Unmarshal(text.Bytes(), to); err != nil {
			return refuse(apply.ReasonBundleInvalid, path, "cannot be read: %v", err)
		}
	}
	c.commit, c.noOp = meta.Provenance.Workspace.Commit, verdict.NoOp
	return nil
}

// write writes the patch to its file and makes sure that it is of one tree: git applies it at the root of the repository.
func (c *candidate) write() error {
	f, err := os.OpenFile(c.patch, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("copy the patch: %w", err)
	}
	defer func() { _ = f.Close() }()
	sum := sha256.New()
	if err := c.offer.WritePatch(c.files, io.MultiWriter(f, sum)); err != nil {
		return err
	}
	c.report.SHA256 = hex.EncodeToString(sum.Sum(nil))
	if c.report.SizeBytes, err = f.Seek(0, io.SeekCurrent); err != nil {
		return err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	parts, err := workspace.SplitPatch(f)
	if err != nil {
		return refuse(apply.ReasonPatch, "", "%v", err)
	}
	for _, p := range parts {
		if !slices.ContainsFunc(c.files, func(f apply.File) bool { return f.Path == p.Path }) {
			return refuse(ReasonLayout, workspace.TextPath(p.Path), "is named below its workspace: only the change of a single workspace can be promoted")
		}
	}
	return nil
}
