// Command judge holds deed's verdicts against the labels of a corpus of agents' work: it runs every case under every form of check with
// the real binary, counts what was right, and writes a signed document. It decides nothing about work: the labels are in the corpus and
// the verdicts are deed's.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/home"
	"github.com/deedrun/deed/internal/evidence/bundle"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "judge:", err)
		}
		stop()
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	projects, deed, npm, home, known, fast string
	filter, form, project, kind, out, keep string
	parallel                               int
	pick                                   int
	deadline                               time.Duration
	list, onlyFast, once, quiet            bool
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var o options
	fl := flag.NewFlagSet("judge", flag.ContinueOnError)
	fl.SetOutput(stderr)
	fl.Usage = func() {
		fmt.Fprintln(stderr, "usage: judge [flags]\n       judge [flags] verify FILE")
		fl.PrintDefaults()
	}
	fl.StringVar(&o.projects, "projects", "judge/projects", "`DIRS` with projects, with commas between them")
	fl.StringVar(&o.deed, "deed", ".cache/judge/deed", "`FILE` of the deed that judges")
	fl.StringVar(&o.npm, "npm", ".cache/observe/node_modules", "`DIR` with the packages of node that projects need")
	fl.StringVar(&o.home, "home", ".cache/judge/home", "`DIR` of the home whose key signs, and whose keys are trusted")
	fl.StringVar(&o.known, "known", "judge/known.yaml", "`FILE` with the wrong verdicts that are known")
	fl.StringVar(&o.fast, "fast-list", "judge/fast.txt", "`FILE` that lists the trials of the fast part")
	fl.BoolVar(&o.onlyFast, "fast", false, "run the fast part only")
	fl.StringVar(&o.filter, "filter", "", "run the trials PROJECT/CASE:FORM that match this `REGEXP`")
	fl.StringVar(&o.form, "form", "", "run this `FORM` only: "+strings.Join(forms, ", "))
	fl.StringVar(&o.project, "project", "", "run the cases of this `PROJECT` only")
	fl.StringVar(&o.kind, "kind", "", "run the cases of this `KIND` only")
	fl.IntVar(&o.parallel, "parallel", runtime.NumCPU(), "run this many trials at once")
	fl.DurationVar(&o.deadline, "deadline", 2*time.Minute, "end a trial after this long")
	fl.StringVar(&o.keep, "keep", "", "keep agents and bundles of verdicts that are not right in `DIR`")
	fl.StringVar(&o.out, "out", "", "write the signed result to `FILE`")
	fl.BoolVar(&o.list, "list", false, "list the trials and run none")
	fl.IntVar(&o.pick, "pick", 0, "run no more than this many trials, spread over ecosystems, kinds and forms, and in an order that keeps them spread when the run is interrupted")
	fl.BoolVar(&o.once, "once", false, "run each case under one of its forms, chosen by its name")
	fl.BoolVar(&o.quiet, "quiet", false, "do not print each outcome as it comes")
	if err := fl.Parse(args); err != nil {
		return err
	}
	var err error
	if o.home, err = filepath.Abs(o.home); err != nil {
		return err
	}
	switch {
	case fl.NArg() == 2 && fl.Arg(0) == "verify":
		return o.verify(fl.Arg(1), stdout)
	case fl.NArg() > 0:
		return fmt.Errorf("argument %q: the only command is verify FILE", fl.Arg(0))
	case o.parallel < 1:
		return fmt.Errorf("-parallel is %d: give at least 1", o.parallel)
	}
	return o.judge(ctx, stdout, stderr)
}

// selected loads the corpus and picks the trials that the flags ask for.
func (o options) selected() ([]*project, []trial, error) {
	projects, err := load(strings.Split(o.projects, ","))
	if err != nil {
		return nil, nil, err
	}
	pattern, err := regexp.Compile(o.filter)
	if err != nil {
		return nil, nil, fmt.Errorf("-filter: %w", err)
	}
	var fast []string
	if o.onlyFast {
		if fast, err = readList(o.fast); err != nil {
			return nil, nil, err
		}
	}
	var out []trial
	for _, t := range allTrials(projects) {
		if (o.project == "" || o.project == t.Project.Name) && (o.form == "" || o.form == t.Form) && (o.kind == "" || o.kind == t.Kind) &&
			pattern.MatchString(t.ID()) && (!o.onlyFast || slices.Contains(fast, t.ID())) {
			out = append(out, t)
		}
	}
	if o.once {
		out = once(out)
	}
	if o.pick > 0 {
		out = pick(out, o.pick)
	}
	if len(out) == 0 {
		return nil, nil, errors.New("no trial is asked for: see -list, and the flags that choose")
	}
	return projects, out, nil
}

func allTrials(projects []*project) []trial {
	var out []trial
	for _, p := range projects {
		for _, a := range p.Cases {
			out = append(out, a.trials()...)
		}
	}
	return out
}

// readList reads a file of one name a line.
func readList(file string) ([]string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read a list of trials: %w", err)
	}
	var out []string
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			out = append(out, line)
		}
	}
	return out, nil
}

// judge runs the trials that are asked for.
func (o options) judge(ctx context.Context, stdout, stderr io.Writer) error {
	projects, trials, err := o.selected()
	if err != nil {
		return err
	}
	if o.list {
		for _, t := range trials {
			fmt.Fprintf(stdout, "%s\t%s\t%s\t%s\n", t.ID(), t.Label, t.Kind, t.Project.Ecosystem)
		}
		return nil
	}
	known, err := loadKnown(o.known)
	if err != nil {
		return err
	}
	d, err := deedOf(ctx, o.deed) // now: the work tree may go on while the trials run
	if err != nil {
		return err
	}
	start := clock.Start()
	all, skipped, err := o.perform(ctx, trials, stderr)
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		fmt.Fprintf(stdout, "interrupted: %d of %d trials were judged\n\n", len(all), len(trials))
		ctx = context.WithoutCancel(ctx)
	}
	for name, what := range skipped {
		fmt.Fprintf(stderr, "skipped project %s: missing tool: %s\n", name, what)
	}
	count(all).table(stdout)
	listWrong(stdout, all, known)
	listSlow(stdout, all, clock.Since(start))
	if o.out != "" {
		if err := o.write(ctx, d, projects, skipped, all); err != nil {
			return err
		}
	}
	if n := len(known.surprises(all)); n > 0 {
		return fmt.Errorf("%d verdicts are not what the labels and %s say", n, o.known)
	}
	return nil
}

// perform runs the trials whose projects can be run here. skipped names the others, and what is missing.
func (o options) perform(ctx context.Context, trials []trial, stderr io.Writer) (all []outcome, skipped map[string]string, err error) {
	work, err := os.MkdirTemp("", "deed-judge-")
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, workspace.Remove(work)) }()
	s := &session{runner: runner{deadline: o.deadline}, work: work, parallel: o.parallel, keep: o.keep}
	if s.runner.deed, err = filepath.Abs(o.deed); err != nil {
		return nil, nil, err
	}
	if s.store, err = filepath.Abs(o.npm); err != nil {
		return nil, nil, err
	}
	skipped = map[string]string{}
	trials = slices.DeleteFunc(trials, func(t trial) bool {
		what := s.missing(t.Project)
		if what != "" {
			skipped[t.Project.Name] = what
		}
		return what != ""
	})
	n := 0
	s.report = func(x outcome) {
		if n++; !o.quiet {
			fmt.Fprintf(stderr, "%4d/%d  %-13s %-8s %5.1fs  %s\n", n, len(trials), x.Score, x.Verdict, x.took.Seconds(), x.Trial)
		}
	}
	all, err = s.run(ctx, trials)
	slices.SortFunc(all, func(a, b outcome) int { return strings.Compare(a.Trial, b.Trial) })
	return all, skipped, err
}

// write writes the signed document.
func (o options) write(ctx context.Context, d deedFacts, projects []*project, skipped map[string]string, all []outcome) error {
	r, err := newResult(ctx, d, projects, skipped, all)
	if err != nil {
		return err
	}
	h, err := home.Open(o.home)
	if err != nil {
		return err
	}
	k, err := bundle.LoadOrCreateKey(h.Keys())
	if err != nil {
		return err
	}
	return r.write(o.out, k)
}

// verify checks a signed document, and says whether it is of the corpus that is here.
func (o options) verify(file string, stdout io.Writer) error {
	trusted, err := bundle.TrustedKeys(home.At(o.home).Keys())
	if err != nil {
		return err
	}
	r, known, err := readResult(file, trusted)
	if err != nil {
		return err
	}
	r.Matrix.table(stdout)
	fmt.Fprintf(stdout, "\ndeed %s (%s), %s\n", r.Deed.Version, r.Deed.Commit, r.CreatedAt)
	fmt.Fprintf(stdout, "signed by %s, which this home %s\n", r.Signer.KeyID, map[bool]string{true: "trusts", false: "does not know"}[known])
	projects, err := load(strings.Split(o.projects, ","))
	if err != nil {
		return err
	}
	here, err := factsOf(projects)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "the corpus is %s\n", map[bool]string{true: "the one that is here", false: "another one than that which is here"}[here.SHA256 == r.Corpus.SHA256])
	return nil
}
