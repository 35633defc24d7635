package apply

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/base/atomicfile"
	"github.com/deedrun/deed/internal/base/crashpoint"
	"github.com/deedrun/deed/internal/evidence/bundle"
)

// A Request is one change for one directory.
type Request struct {
	Bundle    string
	To        string
	Workspace string   // which workspace of the bundle; needed when it changes several
	Approve   []string // files of the change; empty: all
	By        string
	Keys      []bundle.PublicKey // whose signature counts
	Force     bool               // also without a trusted signature and without an accepting gate
	DryRun    bool

	note     string // a note of the person who approved it
	id       string // of the staged apply that this is; else it is made
	manifest string // the manifest's hash, when somebody approved exactly this bundle
}

// Apply verifies a bundle and gives a directory its change, all of it or nothing. It first takes back what a crash left
// half done; of this very change, when the crash left it whole, it says that it is applied. The result says what came of it, also when the error is not nil: a *Refusal means that nothing was changed
// because something is not as it must be. Every call but a dry run leaves a line in the audit log.
func (a *Applier) Apply(ctx context.Context, r Request) (evidence.ApplyResult, error) {
	res := evidence.ApplyResult{
		Schema: evidence.SchemaApplyResult, Adapter: Adapter, Status: evidence.ApplyApplied, AppliedFiles: []string{},
		Target: evidence.ApplyTarget{Directory: r.To, Workspace: r.Workspace}, Approver: r.By,
	}
	if r.id == "" {
		r.id = uuid.Must(uuid.NewV7()).String()
	}
	var recovery Recovery
	var err error
	if !r.DryRun {
		recovery, err = a.Recover(ctx)
		recovery.describe(&res)
	}
	var files []File
	if err == nil {
		files, err = a.apply(ctx, r, recovery, &res)
	}
	if err != nil {
		a.fail(&res, err)
	} else {
		res.AppliedFiles = names(files)
	}
	if r.DryRun {
		return res, err
	}
	line := evidence.ApplyAudit{Operation: evidence.AuditApply, Bundle: absolute(r.Bundle), ApprovedFiles: names(files), Note: r.note}
	return res, errors.Join(err, a.close(&res, line))
}

func (a *Applier) fail(res *evidence.ApplyResult, err error) {
	res.Status, res.AppliedFiles, res.ApplyID = evidence.ApplyFailed, []string{}, ""
	var r *Refusal
	if errors.As(err, &r) {
		res.Status = evidence.ApplyRefused
	}
	res.Error = a.failure(err)
}

// close writes the audit line of a result, and only then moves the journal of what was applied to the finished ones:
// after a crash in between, the next apply reports it.
func (a *Applier) close(res *evidence.ApplyResult, line evidence.ApplyAudit) error {
	line.AuditReference = uuid.Must(uuid.NewV7()).String()
	line.Status, line.ApplyID, line.ArtifactID, line.Target = res.Status, res.ApplyID, res.ArtifactID, res.Target
	line.Approver, line.PatchSHA256, line.Error = res.Approver, res.PatchSHA256, res.Error
	if err := a.audit(line); err != nil {
		return err
	}
	res.AuditReference = line.AuditReference
	if res.Status != evidence.ApplyApplied {
		return nil
	}
	j, err := readJournal(filepath.Join(a.openDir(), res.ApplyID))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // another process saw it whole and closed it
	}
	if err != nil {
		return err
	}
	return j.move(a.doneDir())
}

func (a *Applier) apply(ctx context.Context, r Request, recovery Recovery, res *evidence.ApplyResult) ([]File, error) {
	o, err := Read(r.Bundle, bundle.VerifyOptions{TrustedKeys: r.Keys})
	if m := o.Verification.Manifest; m != nil {
		res.ArtifactID = m.ID
	}
	if err != nil {
		return nil, err
	}
	defer o.Close()
	if err := trusted(o, r); err != nil {
		return nil, err
	}
	files, err := o.choose(r.Workspace, r.Approve, r.manifest != "")
	if err != nil {
		return nil, err
	}
	t, err := openSite(r.To)
	if err != nil {
		return nil, err
	}
	defer t.close()
	res.Target.Directory = t.dir
	if err := recovery.at(t.dir); err != nil {
		return nil, err
	}
	if len(files) == 0 {
		res.Status = evidence.ApplyNoOp
		return nil, nil
	}
	if done := recovery.finished(res.ArtifactID, res.Target, files, t); done != nil {
		res.ApplyID, res.PatchSHA256 = done.ID, done.PatchSHA
		return files, nil
	}
	p, err := t.plan(files)
	if err != nil {
		return nil, err
	}
	if r.DryRun {
		res.Status = evidence.ApplyDryRun
		res.PatchSHA256, err = rehearse(ctx, o, t, p)
		return files, err
	}
	rec := record{
		ID: r.id, At: a.Clock().Format(time.RFC3339Nano), ArtifactID: res.ArtifactID, Bundle: absolute(r.Bundle),
		Target: res.Target, identity: t.id, Approver: r.By,
	}
	res.ApplyID = rec.ID
	j, err := a.begin(ctx, rec, t, p)
	if err != nil {
		return nil, err
	}
	crashpoint.Hit(crashpoint.ApplyJournaled)
	if err := j.run(ctx, o, t, p); err != nil {
		return nil, errors.Join(err, j.abandon(t))
	}
	res.PatchSHA256 = j.PatchSHA
	crashpoint.Hit(crashpoint.ApplyMarked)
	return files, nil
}

// trusted demands what --force can do without, and what it cannot.
func trusted(o *Offer, r Request) error {
	v := o.Verification
	if r.manifest != "" && manifestHash(v.Manifest) != r.manifest {
		return refuse(ReasonBundleChanged, "", "the bundle is not the one that was staged")
	}
	if !v.ContentAddressed {
		return refuse(ReasonNotContentAddressed, "", "the bundle's id does not depend on its change (an older or newer form), so that approving it approves nothing")
	}
	if r.Force {
		return nil
	}
	return o.accepted("or use --force", "--force applies it all the same")
}

// Trusted refuses a change whose bundle no trusted key signed, whose id names no change, or that no gate accepted.
func (o *Offer) Trusted() error {
	if !o.Verification.ContentAddressed {
		return trusted(o, Request{})
	}
	return o.accepted("and try again", "only accepted work is taken further")
}

func (o *Offer) accepted(unsigned, rejected string) error {
	v := o.Verification
	if v.Signature.Status != bundle.SignatureValid {
		return refuse(ReasonSignature, "", "the bundle's signature is %s (trust its key with `deed key trust`, %s)", v.Signature.Status, unsigned)
	}
	if r, _ := o.ruling(); r.word != verdictAccepted {
		return refuse(ReasonNotAccepted, "", "%s", r.refusal(rejected))
	}
	return nil
}

// manifestHash is the hash that the manifest states of itself; the verification compared it.
func manifestHash(m *evidence.Manifest) string {
	if e := bundle.ListedFile(m, evidence.PathManifest); e != nil && e.SHA256 != nil {
		return e.SHA256.Value
	}
	return ""
}

// rehearse stages a change outside the directory.
func rehearse(ctx context.Context, o *Offer, t *site, p *plan) (string, error) {
	dir, done, err := atomicfile.Scratch("rehearse")
	if err != nil {
		return "", fmt.Errorf("stage the change: %w", err)
	}
	defer done()
	return (&stage{dir: dir}).build(ctx, o, t, p)
}

// run stages the change, switches the files over and makes sure of the result.
func (j *journal) run(ctx context.Context, o *Offer, t *site, p *plan) error {
	if err := t.root.Mkdir(j.stageDir(), 0o700); err != nil {
		return fmt.Errorf("stage the change: %w", err)
	}
	s := &stage{dir: filepath.Join(t.dir, j.stageDir())}
	var err error
	if j.PatchSHA, err = s.build(ctx, o, t, p); err != nil {
		return err
	}
	if err := t.same(p); err != nil {
		return err
	}
	crashpoint.Hit(crashpoint.ApplyStaged)
	if err := j.switchOver(s, t, p); err != nil {
		return err
	}
	crashpoint.Hit(crashpoint.ApplySwitched)
	if err := t.reached(p); err != nil {
		return err
	}
	if err := j.mark(stateApplied); err != nil {
		return err
	}
	return t.root.RemoveAll(j.stageDir())
}

// same looks a last time whether somebody changed a file while the change was staged.
func (t *site) same(p *plan) error {
	var reasons []evidence.ApplyReason
	for _, st := range p.steps {
		now, err := t.look(st.Path)
		if err != nil {
			return fmt.Errorf("read %s: %w", Shown(st.Name), err)
		}
		if !now.is(st.Before) {
			reasons = append(reasons, evidence.ApplyReason{Code: ReasonDrift, Path: st.Name, Message: "changed while the change was prepared"})
		}
	}
	return refused(reasons)
}

// switchOver takes out what goes, then gives every staged file its place.
func (j *journal) switchOver(s *stage, t *site, p *plan) error {
	paths := make([]string, len(p.steps))
	for i, st := range p.steps {
		paths[i] = st.Path
	}
	done := 0
	half := func() {
		if done++; done == 1 {
			crashpoint.Hit(crashpoint.ApplyHalf)
		}
	}
	for _, st := range p.steps {
		if !st.After.absent() {
			continue
		}
		if err := t.root.Remove(filepath.FromSlash(st.Path)); err != nil {
			return fmt.Errorf("take out %s: %w", Shown(st.Name), err)
		}
		t.prune(st.Path, p)
		half()
	}
	for _, st := range p.steps {
		if st.After.absent() {
			continue
		}
		if err := t.mkdirs(st.Path); err != nil {
			return fmt.Errorf("make the directory of %s: %w", Shown(st.Name), err)
		}
		from := filepath.Join(j.stageDir(), filepath.FromSlash(s.file(st)))
		if err := t.root.Rename(from, filepath.FromSlash(st.Path)); err != nil {
			return fmt.Errorf("put %s in its place: %w", Shown(st.Name), err)
		}
		half()
	}
	return t.sync(paths)
}

// prune removes directories that lost their last file, as git does, unless the change puts something into them.
func (t *site) prune(p string, pl *plan) {
	for d := path.Dir(p); d != "."; d = path.Dir(d) {
		if slices.ContainsFunc(pl.steps, func(st step) bool { return !st.After.absent() && strings.HasPrefix(st.Path, d+"/") }) {
			return
		}
		if t.root.Remove(filepath.FromSlash(d)) != nil {
			return
		}
	}
}

func (t *site) mkdirs(p string) error {
	at := ""
	for part := range strings.SplitSeq(path.Dir(p), "/") {
		if part == "." {
			return nil
		}
		at = path.Join(at, part)
		if err := t.root.Mkdir(filepath.FromSlash(at), 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

// reached reads every file again: what is there must be what the change list says.
func (t *site) reached(p *plan) error {
	for _, st := range p.steps {
		now, err := t.look(st.Path)
		if err != nil {
			return fmt.Errorf("read %s again: %w", Shown(st.Name), err)
		}
		if !now.is(st.After) {
			return fmt.Errorf("%s is not what the change list says after it was written", Shown(st.Name))
		}
	}
	return nil
}

// abandon puts back what an apply that failed changed, and discards the journal.
func (j *journal) abandon(t *site) error {
	if err := j.restore(t); err != nil {
		return fmt.Errorf("put everything back (the next `deed apply` tries again): %w", err)
	}
	return j.discard(t)
}

// discard removes the stage and the journal of an apply that left nothing behind.
func (j *journal) discard(t *site) error {
	if err := t.root.RemoveAll(j.stageDir()); err != nil {
		return fmt.Errorf("remove the stage: %w", err)
	}
	return os.RemoveAll(j.dir)
}

func absolute(p string) string {
	if abs, err := filepath.Abs(p); err == nil {
		return abs
	}
	return p
}
