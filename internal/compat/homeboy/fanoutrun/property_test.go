package fanoutrun

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/store"
)

// The results of tries in the property: one of each kind that the rules distinguish.
var ends = []homeboy.Outcome{
	end(homeboy.Succeeded, ""), end(homeboy.NoOp, ""), end(homeboy.ProviderError, homeboy.ClassProvider), end(homeboy.ProviderError, homeboy.ClassTransient),
	end(homeboy.Failed, homeboy.ClassExecutionFailed), end(homeboy.Failed, homeboy.ClassPolicyDenied), end(homeboy.Timeout, homeboy.ClassTimeout),
	end(homeboy.CandidateRecoverable, ""), end(homeboy.UnableToRemediate, ""), end(homeboy.FollowUpIssue, ""),
}

// In whatever order tasks end and wherever deed dies, every task gets one record, every execution is in it exactly once,
// and never do more run than the window and the exclusive keys allow. Edge cases 87, 88, 95, 98, 99, 109.
func TestProperty(t *testing.T) {
	t.Parallel()
	st := newWorld(t, t.TempDir()).st // fanouts know nothing of each other but their keys, and those are new each time
	rapid.Check(t, func(rt *rapid.T) { newProperty(t, rt, worldOn(st)).run(rt) })
}

type property struct {
	*world
	t    *testing.T
	id   string
	plan Plan
	most int
	lost map[string]int
}

func newProperty(t *testing.T, rt *rapid.T, w *world) *property {
	tasks := drawTasks(rt, rapid.IntRange(0, 9), store.NewID())
	p := Plan{Plan: planOf(tasks...), Policy: Policy{MaxConcurrency: int64(rapid.IntRange(1, 4).Draw(rt, "concurrency"))}}
	if rapid.Bool().Draw(rt, "retry") {
		p.Policy.Retry = &Retry{MaxAttempts: int64(rapid.IntRange(0, 3).Draw(rt, "attempts"))}
		if rapid.Bool().Draw(rt, "bounded") {
			n := int64(rapid.IntRange(0, 3).Draw(rt, "retries"))
			p.Policy.Retry.MaxRetriesTotal = &n
		}
	}
	if rapid.Bool().Draw(rt, "rotation") {
		p.Policy.Rotation = &Rotation{Entries: []Entry{{Backend: "two"}, {Backend: "three"}}}
	}
	if rapid.Bool().Draw(rt, "per executor") {
		p.Policy.PerExecutor = map[string]int64{"one": 1, "two": 2}
	}
	if rapid.Bool().Draw(rt, "needs") && len(tasks) > 1 {
		p.Needs = Needs{"t0": {DependsOn: []string{"t1"}}}
	}
	f := w.create(t, p)
	return &property{world: w, t: t, id: f.ID, plan: p, most: p.Policy.window().Most, lost: map[string]int{}}
}

// drawTasks draws tasks, some of which share keys. The keys are of the given world.
func drawTasks(rt *rapid.T, n *rapid.Generator[int], world string) (tasks []homeboy.FanoutTask) {
	for i := range n.Draw(rt, "tasks") {
		keys := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 2, rapid.ID[string]).Draw(rt, "keys")
		for k := range keys {
			keys[k] += world
		}
		tasks = append(tasks, request(fmt.Sprint("t", i), keys...))
	}
	return tasks
}

// Fanouts of several processes, some of which die: a key is never held by two running tasks, and every fanout ends.
// Edge cases 88 and 98.
func TestPropertyOfKeys(t *testing.T) {
	t.Parallel()
	st := newWorld(t, t.TempDir()).st
	rapid.Check(t, func(rt *rapid.T) {
		keys := store.NewID()
		var all []*property
		for range 2 {
			w := worldOn(st)
			p := Plan{Plan: planOf(drawTasks(rt, rapid.IntRange(1, 4), keys)...)}
			all = append(all, &property{world: w, t: t, id: w.create(t, p).ID, plan: p})
		}
		deaths := 0
		for range 400 {
			all = slices.DeleteFunc(all, func(p *property) bool {
				f, err := st.Fanout(t.Context(), p.id)
				return err == nil && !f.Live()
			})
			if len(all) == 0 {
				return
			}
			p := all[rapid.IntRange(0, len(all)-1).Draw(rt, "which")]
			switch {
			case deaths < 4 && rapid.IntRange(0, 9).Draw(rt, "kill") == 0:
				deaths++
				if err := p.die(t.Context(), p.id); err != nil {
					rt.Fatal(err)
				}
			case len(p.running) > 0 && rapid.Bool().Draw(rt, "ends"):
				c := p.running[0]
				p.running = p.running[1:]
				if err := p.settle(t.Context(), c, end(homeboy.Succeeded, ""), ""); err != nil {
					rt.Fatal(err)
				}
			default:
				step, err := p.svc.Advance(t.Context(), p.id)
				if err != nil {
					rt.Fatal(err)
				}
				p.running = append(p.running, step.Claims...)
				if step.Fanout.Live() && len(p.running) == 0 && step.Moved == 0 && !step.Away && !step.Waits {
					rt.Fatal("it waits for nothing")
				}
			}
			held := map[string]bool{}
			for _, p := range all {
				for _, c := range p.running {
					var q homeboy.Request
					if err := json.Unmarshal(c.Task.Record.Payload, &q); err != nil {
						rt.Fatal(err)
					}
					if q.Limits == nil {
						continue
					}
					for _, k := range q.Limits.ExclusiveResourceKeys {
						if held[k] {
							rt.Fatalf("%s is held twice", k)
						}
						held[k] = true
					}
				}
			}
		}
		rt.Fatal("they do not come to an end")
	})
}

func (p *property) run(rt *rapid.T) {
	crashes := 0
	p.crash = func() bool {
		if crashes < 6 && rapid.IntRange(0, 9).Draw(rt, "crash") == 0 {
			crashes++
			return true
		}
		return false
	}
	for range 500 {
		st, err := p.svc.Advance(p.t.Context(), p.id)
		p.running = append(p.running, st.Claims...)
		if errors.Is(err, errCrash) || err == nil && st.Fanout.Live() && crashes < 6 && rapid.IntRange(0, 7).Draw(rt, "kill") == 0 {
			crashes++
			for _, n := range p.names() {
				p.lost[n]++
			}
			if err := p.die(p.t.Context(), p.id); err != nil {
				rt.Fatal(err)
			}
			continue
		}
		if err != nil {
			rt.Fatal(err)
		}
		p.check(rt)
		if !st.Fanout.Live() {
			p.over(rt, st.Fanout)
			return
		}
		if len(p.running) == 0 {
			if st.Moved == 0 && !st.Away {
				rt.Fatalf("nothing runs, and %d are pending", st.Fanout.Pending)
			}
			continue
		}
		i := rapid.IntRange(0, len(p.running)-1).Draw(rt, "ends")
		c := p.running[i]
		p.running = slices.Delete(p.running, i, i+1)
		if err := p.settle(p.t.Context(), c, rapid.SampledFrom(ends).Draw(rt, "as"), "agent_failed"); err != nil {
			rt.Fatal(err)
		}
	}
	rt.Fatal("it does not come to an end")
}

// check looks at what runs now.
func (p *property) check(rt *rapid.T) {
	if len(p.running) > p.most {
		rt.Fatalf("%d run, and %d may", len(p.running), p.most)
	}
	items, err := p.st.ReleasedItems(p.t.Context(), p.id)
	if err != nil {
		rt.Fatal(err)
	}
	held := map[string]int{}
	w := p.plan.Policy.window()
	for _, it := range items {
		for _, u := range it.Uses {
			held[u]++
		}
	}
	for u, n := range held {
		most, ok := w.Capacity[u]
		if !ok {
			most = 1
		}
		if n > most {
			rt.Fatalf("%s is held by %d", u, n)
		}
	}
}

// over compares the document with what really ran.
func (p *property) over(rt *rapid.T, f store.Fanout) {
	run := p.document(p.t, p.id)
	if len(run.Records) != len(p.plan.Plan.TaskRequests) {
		rt.Fatalf("%d records of %d tasks", len(run.Records), len(p.plan.Plan.TaskRequests))
	}
	all := true
	for i, r := range run.Records {
		if r.ID != p.plan.Plan.TaskRequests[i].ID {
			rt.Fatalf("record %d is of %s", i, r.ID)
		}
		list, _ := tries(p.t, r)
		var statuses []homeboy.OutcomeStatus
		for _, t := range list {
			if t.Then != ThenLost {
				statuses = append(statuses, t.Status)
			}
		}
		if n := len(list) - len(statuses); n != p.lost[r.ID] {
			rt.Fatalf("%s was lost %d times, and its record tells %d", r.ID, p.lost[r.ID], n)
		}
		if !slices.Equal(statuses, p.ran[r.ID]) {
			rt.Fatalf("%s was executed %v, and its record tells %v", r.ID, p.ran[r.ID], statuses)
		}
		all = all && r.Status == homeboy.RecordCompleted
	}
	if all != (run.Status == homeboy.FanoutCompleted) || string(run.Status) != f.Status {
		rt.Fatalf("the run is %s, the fanout %s, all succeeded: %v", run.Status, f.Status, all)
	}
}
