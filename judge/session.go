package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

// A session runs many trials, several at once.
type session struct {
	runner   runner
	work     string // a directory of its own
	store    string // a node_modules with the packages that projects need
	parallel int
	keep     string // where the evidence of wrong verdicts goes; empty: nowhere
	report   func(o outcome)
}

// missing returns what a project needs and this machine does not have.
func (s *session) missing(p *project) string {
	path := proc.Getenv(environment(), "PATH")
	for _, name := range p.programs() {
		if _, err := proc.LookPath(name, path, "/"); err != nil {
			return name
		}
	}
	for _, name := range p.packages() {
		if _, err := os.Stat(filepath.Join(s.store, name, "package.json")); err != nil {
			return "npm:" + name
		}
	}
	return ""
}

// A batch is the trials under way.
type batch struct {
	session *session
	trials  []trial
	places  map[*project]*place

	mu     sync.Mutex
	left   map[*project]int
	out    []outcome
	faults []error
}

// run makes all trials and returns their outcomes: of those that were over when ctx ended, where it did. What a project left is removed
// when its last trial is over.
func (s *session) run(ctx context.Context, trials []trial) ([]outcome, error) {
	b := &batch{session: s, trials: trials, places: map[*project]*place{}, left: map[*project]int{}}
	for _, t := range trials {
		b.left[t.Project]++
		if b.places[t.Project] != nil {
			continue
		}
		l, err := newPlace(t.Project, s.work, s.store)
		if err == nil {
			err = s.runner.prepare(l, t.Project.Cases)
		}
		if err != nil {
			return nil, err
		}
		b.places[t.Project] = l
	}
	next := make(chan int)
	var workers sync.WaitGroup
	for range s.parallel {
		workers.Go(func() {
			for n := range next {
				b.one(ctx, n)
			}
		})
	}
	for n := range trials {
		if ctx.Err() != nil {
			break
		}
		next <- n
	}
	close(next)
	workers.Wait()
	return b.out, errors.Join(b.faults...)
}

// one makes a trial.
func (b *batch) one(ctx context.Context, n int) {
	t := b.trials[n]
	l := b.places[t.Project]
	o := b.session.runner.run(ctx, l, t)
	if ctx.Err() != nil {
		return // it may have been cut short
	}
	err := b.session.keepWrong(t, o)

	b.mu.Lock()
	b.out = append(b.out, o)
	b.left[t.Project]--
	last := b.left[t.Project] == 0
	b.session.report(o)
	b.mu.Unlock()
	if last {
		err = errors.Join(err, workspace.Remove(l.dir))
	}
	b.mu.Lock()
	b.faults = append(b.faults, err)
	b.mu.Unlock()
}

// keepWrong copies the agent and the bundle of a wrong verdict.
func (s *session) keepWrong(t trial, o outcome) error {
	if s.keep == "" || o.Score == right {
		return nil
	}
	to := filepath.Join(s.keep, strings.NewReplacer("/", "-", ":", "-").Replace(t.ID()))
	if err := errors.Join(os.RemoveAll(to), os.MkdirAll(to, 0o755)); err != nil { // what an earlier run kept
		return fmt.Errorf("keep the evidence of %s: %w", t.ID(), err)
	}
	if err := os.WriteFile(filepath.Join(to, "agent.sh"), []byte(agentScript(t.attempt)), 0o755); err != nil { //nolint:gosec // to be run again by hand
		return fmt.Errorf("keep the evidence of %s: %w", t.ID(), err)
	}
	if o.evidence == "" {
		return nil
	}
	if err := os.CopyFS(filepath.Join(to, "bundle"), os.DirFS(o.evidence)); err != nil {
		return fmt.Errorf("keep the evidence of %s: %w", t.ID(), err)
	}
	return nil
}
