package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

// A Report is what a run found.
type Report = runner.AuditReport

// A Config says what to audit and how.
type Config struct {
	Root string // the component's directory
	ID   string // its id

	Manifests []Manifest      // `audit` of the manifests of its extensions
	Component json.RawMessage // its own `audit`, of homeboy.json or of deed.yaml's checks
	Rules     json.RawMessage // its own `audit_rules`
	Version   string          // the component's own, for what is deprecated since an earlier one
	Scripts   []Script        // fingerprint scripts, for languages without a parser here

	Only    []string // kinds to report; none is all
	Exclude []string // kinds not to report; it wins over Only

	ChangedSince string              // a revision, for the report
	Changed      map[string][][2]int // with ChangedSince: the files that changed since, and their changed lines

	Cache    string                // a directory for facts; "" is none
	Progress func(done, total int) // called from several goroutines
	Now      time.Time             // zero: now
}

// A Manifest is the `audit` object of an extension's manifest, and what to call it in messages.
type Manifest struct {
	Where string
	Audit json.RawMessage
}

// A KindError names kinds that do not exist.
type KindError struct {
	Unknown []string
	Known   []string
}

func (e *KindError) Error() string {
	return fmt.Sprintf("unknown kind %s (the kinds are %s)", strings.Join(e.Unknown, ", "), strings.Join(e.Known, ", "))
}

// ErrRoot is wrapped when there is no directory to audit.
var ErrRoot = errors.New("not a directory that can be read")

// An audit is one run.
type audit struct {
	cfg   Config
	set   Settings
	rules *ruleSet
	dir   string
	root  *os.Root
	top   string // of the git work tree; "" when there is none
	below string // the path of dir from there
	cache *cache
	now   time.Time

	modules []string // the go.mod files
	files   []*source
	skipped int
	tree    *tree
	scripts *scripts

	findings    []runner.AuditFinding
	conventions []runner.AuditConvention
	duplicates  []runner.AuditDuplicate
	warnings    []string
}

// Run audits a tree. Faults of the project's configuration are a fault.Faults, a kind that does not exist is a *KindError,
// and a directory that is none wraps ErrRoot: all before anything was read. The same tree gives the same report, but for
// what the clock decides: the age of comments.
func Run(ctx context.Context, cfg Config) (Report, error) {
	set, warnings, err := cfg.load()
	if err != nil {
		return Report{}, err
	}
	if err := checkKinds(cfg, set); err != nil {
		return Report{}, err
	}
	cfg.Scripts = resolve(cfg.Scripts)
	a := &audit{cfg: cfg, set: set, rules: compile(set, cfg.Scripts), now: cfg.Now, warnings: warnings}
	if a.now.IsZero() {
		a.now = clock.System()
	}
	if a.dir, err = filepath.Abs(cfg.Root); err != nil {
		return Report{}, fmt.Errorf("audit %s: %w", cfg.Root, err)
	}
	if a.root, err = os.OpenRoot(a.dir); err != nil {
		return Report{}, fmt.Errorf("audit %s: %w: %w", cfg.Root, ErrRoot, err)
	}
	defer a.root.Close()
	if err := a.read(ctx); err != nil {
		return Report{}, err
	}
	var saved sync.WaitGroup
	saved.Go(func() { a.cache.save(a.files, a.now) })
	defer saved.Wait()
	if err := a.detect(ctx); err != nil {
		return Report{}, err
	}
	return a.report(), nil
}

// read is the first half: facts of every file.
func (a *audit) read(ctx context.Context) error {
	var loaded sync.WaitGroup
	loaded.Go(func() { a.cache = openCache(a.cfg.Cache, a.dir, a.rules.digest) })
	names, err := a.list(ctx)
	loaded.Wait()
	if err != nil {
		return fmt.Errorf("audit %s: %w", a.cfg.Root, err)
	}
	a.scripts = newScripts(ctx, a.cfg.Scripts, a.dir)
	if a.files, err = a.scan(ctx, names); err != nil {
		return fmt.Errorf("audit %s: %w", a.cfg.Root, err)
	}
	a.warnings = append(a.warnings, a.scripts.warnings()...)
	return nil
}

// detectors is the second half, in the order of docs/AUDIT.md.
var detectors = []func(*audit, context.Context) error{
	(*audit).detectConventions,
	(*audit).detectStructure,
	(*audit).detectDuplicates,
	(*audit).detectExports,
	(*audit).detectMarkers,
	(*audit).detectTests,
	(*audit).detectLayers,
	(*audit).detectFeatures,
	(*audit).detectDocuments,
	(*audit).detectRequested,
}

// detect runs the detectors side by side. Each has a copy of the run to write its findings into; they are put together in
// the order of the table.
func (a *audit) detect(ctx context.Context) error {
	a.tree = newTree(a)
	parts := make([]audit, len(detectors))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, d := range detectors {
		parts[i] = *a
		parts[i].warnings = nil
		g.Go(func() error {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return d(&parts[i], ctx)
		})
	}
	if err := g.Wait(); err != nil {
		return fmt.Errorf("audit %s: %w", a.cfg.Root, err)
	}
	for _, p := range parts {
		a.findings = append(a.findings, p.findings...)
		a.conventions = append(a.conventions, p.conventions...)
		a.duplicates = append(a.duplicates, p.duplicates...)
		a.warnings = append(a.warnings, p.warnings...)
	}
	return nil
}

// add takes a finding. Its severity and confidence are those of its kind unless it has its own; the settings have the
// last word on the severity.
func (a *audit) add(f runner.AuditFinding) {
	k, known := kindOf(f.Kind)
	if f.Severity == "" {
		f.Severity = k.Severity
	}
	if f.Confidence == "" {
		f.Confidence = k.Confidence
	}
	if !known && f.Confidence == "" {
		f.Confidence = heuristic
	}
	if s := a.set.Severity[f.Kind]; s != "" {
		f.Severity = s
	}
	if f.Severity == "off" || !a.reports(f.Kind) || workspace.MatchAny(a.set.Ignore, f.File) {
		return
	}
	a.findings = append(a.findings, f)
}

func (a *audit) reports(kind string) bool {
	if slices.Contains(a.cfg.Exclude, kind) {
		return false
	}
	return len(a.cfg.Only) == 0 || slices.Contains(a.cfg.Only, kind)
}

// knownKinds lists the kinds that a run with these settings can report.
func knownKinds(set Settings) []string {
	var out []string
	for _, k := range Kinds {
		out = append(out, k.Name)
	}
	for _, d := range set.RequestedDetectors {
		if d.Kind != "" && !slices.Contains(out, d.Kind) {
			out = append(out, d.Kind)
		}
	}
	return out
}

func checkKinds(cfg Config, set Settings) error {
	known := knownKinds(set)
	var unknown []string
	for _, k := range slices.Concat(cfg.Only, cfg.Exclude) {
		if !slices.Contains(known, k) && !slices.Contains(unknown, k) {
			unknown = append(unknown, k)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	slices.Sort(known)
	return &KindError{Unknown: unknown, Known: known}
}
