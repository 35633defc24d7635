// Package storetest is the conformance suite of the store: everything that the store promises, run on a real
// database. Both engines must pass all of it. Only tests import it.
package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/store"
)

// A Target is an engine, and a way to open its databases.
type Target struct {
	DSN func(t testing.TB) string // the name of a fresh, empty database for each call
}

// Run runs the suite.
func Run(t *testing.T, target Target) {
	for _, c := range []struct {
		name string
		run  func(*testing.T, Target)
	}{
		{"EnqueueRecordsWhatItWasGiven", enqueueRecords},
		{"EnqueueKeepsPayloadBytes", enqueuePayload},
		{"EnqueueBatchIsAllOrNothing", enqueueBatch},
		{"EnqueueRefusesBadInput", enqueueBad},
		{"EnqueueClaimed", enqueueClaimed},
		{"ClaimOrder", claimOrder},
		{"ClaimOrderWithinOneInstant", claimSubSecond},
		{"ClaimOnlyWhatIsDue", claimDue},
		{"ClaimPromotesABurstInOrder", claimBurst},
		{"ClaimByID", claimByID},
		{"ClaimAgeing", claimAgeing},
		{"ClaimReranksOnAnotherStep", claimRerank},
		{"ClaimersNeverShareATask", claimConcurrent},
		{"NextDue", nextDue},
		{"CycleLog", cycleLog},
		{"SensorEventsAreForgotten", sensorForget},
		{"AClockThatIsSetBackHoldsUpNobody", clockBack},
		{"RenewAndFence", renewAndFence},
		{"BeginOnce", beginOnce},
		{"AttemptTransitions", attemptTransitions},
		{"LostByLease", lostByLease},
		{"LostByRunner", lostByRunner},
		{"SettleCompleted", settleCompleted},
		{"SettleRetriesThenFails", settleRetries},
		{"SettleRefund", settleRefund},
		{"SettleRefusesWhatIsIllegal", settleIllegal},
		{"SettleIsAtomic", settleAtomic},
		{"SettleStoresHostileText", settleHostile},
		{"CancelInEveryState", cancelStates},
		{"CancelWhileRunning", cancelRunning},
		{"RetryInEveryState", retryStates},
		{"PauseAndResume", pauseResume},
		{"ListsJoin", listsJoin},
		{"RequestsActOnce", requestsActOnce},
		{"RequestsConcurrently", requestsConcurrently},
		{"GuardedWrites", guardedWrites},
		{"DedupeWhileTheTaskLives", dedupeLife},
		{"DedupeForAWindow", dedupeWindow},
		{"DedupeInsideABatch", dedupeBatch},
		{"DedupeConcurrently", dedupeConcurrent},
		{"DedupeAndRetry", dedupeRetry},
		{"OutboxDeliversOnce", outboxOnce},
		{"OutboxFailures", outboxFail},
		{"OutboxIsTakenOnce", outboxTake},
		{"OutboxByHand", outboxByHand},
		{"ScheduleSlotsAreTakenOnce", scheduleOnce},
		{"ScheduleStates", scheduleStates},
		{"ActionsBlockAndWake", actionsWake},
		{"ActionsOfARunningAttempt", actionsLive},
		{"ActionsAreAskedOnce", actionsOnce},
		{"ActionDeadlines", actionDeadlines},
		{"Checkpoints", checkpoints},
		{"UsageIsRecorded", usageRecorded},
		{"MemoryIsByAgent", memoryByAgent},
		{"UsageUnderTheFence", usageFenced},
		{"UsageByDayAndModel", usageReport},
		{"UsageOfDays", usageOfDays},
		{"BudgetIsRaised", budgetRaised},
		{"ToldWindow", reportWindow},
		{"UsageShares", usageShares},
		{"Backlog", backlog},
		{"Runners", runners},
		{"RunsAreRecordedWhole", runsRecorded},
		{"RunTransitionsInEveryState", runTransitions},
		{"RunsThatEndedTakeOnlyWhatIsKnownLater", runsEnded},
		{"RunHeartbeats", runBeats},
		{"RunCancellation", runCancel},
		{"RunMetadataHoldsNoCredentials", runMetadata},
		{"RunListAndPaging", runList},
		{"RunsOfDeadRunners", runsLive},
		{"RunRetentionWalk", runRetention},
		{"RunsRefuseBadInput", runsBad},
		{"FanoutsAreRecordedWhole", fanoutRecords},
		{"FanoutWithoutItems", fanoutEmpty},
		{"FanoutOfManyItems", fanoutLarge},
		{"FanoutReleasesOnce", fanoutRelease},
		{"FanoutResources", fanoutResources},
		{"FanoutQueueOnOneResource", fanoutQueueOnOneKey},
		{"FanoutFinishes", fanoutFinish},
		{"FanoutTriesAgain", fanoutAgain},
		{"FanoutOwners", fanoutOwners},
		{"FanoutCancel", fanoutCancel},
		{"FanoutDependencies", fanoutDependencies},
		{"FanoutConcurrently", fanoutConcurrent},
		{"FanoutsShareKeys", fanoutsShareKeys},
		{"FanoutsShareKeysConcurrently", fanoutsShareConcurrently},
		{"FanoutKeysOfTheDead", fanoutKeysOfTheDead},
		{"FanoutWeights", fanoutWeights},
		{"FanoutItemsWaitForTheirTime", fanoutTimes},
		{"FanoutItemsThatNeverStart", fanoutNeverStarts},
		{"WorkflowStepsAreRecordedWhole", workflowSteps},
		{"WorkflowStepsAreTakenOnce", workflowOnce},
		{"WorkflowKeysAreUniqueWhileTheyLive", workflowKeys},
		{"WorkflowsWaitForAnswers", workflowAnswers},
		{"WorkflowsSeeTheirTasksEnd", workflowTasks},
		{"WorkflowStepsAreAtomic", workflowAtomic},
		{"IntakeIsAllOrNothing", intake},
		{"SensorEventsAreTakenOnce", sensorOnce},
		{"SensorKeysHaveAWindow", sensorWindow},
		{"SensorEventsInABatch", sensorBatch},
		{"SensorEventsThatArePlain", sensorPlain},
		{"SensorRunsAreTakenAsOneByOne", sensorRuns},
		{"SensorIntakeIsAllOrNothing", sensorAtomic},
		{"SensorRunsMoveTheirCursor", sensorCursor},
		{"SensorHealth", sensorHealth},
		{"SensorsConcurrently", sensorConcurrent},
		{"AgentsAndWallets", agents},
		{"AgentsAndWalletsConcurrently", agentsRace},
		{"AgentsAreImportedWhole", agentImport},
		{"Constitutions", constitutions},
		{"Credentials", credentials},
		{"AccessLog", accessLog},
		{"Events", events},
		{"ListAndCounts", listCounts},
		{"Tallies", tallies},
		{"DamagedRowsKeepNobodyFromTheOthers", damagedRows},
		{"DamagedTasksStandInNobodysWay", damagedTasks},
		{"Prefixes", prefixes},
		{"TwoStoresShareOneQueue", twoStores},
		{"ReopenCosts", reopen},
		{"OpenConcurrently", openConcurrent},
		{"SchemaNewerIsRefused", schemaNewer},
		{"MigrationsAreRecorded", migrationsRecorded},
		{"CanceledContextWritesNothing", canceledContext},
		{"CloseThenUse", closeThenUse},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t, target)
		})
	}
}

// A Clock is a clock that stands until it is moved.
type Clock struct {
	mu sync.Mutex
	t  time.Time
}

// NewClock returns a clock that shows an instant with microseconds.
func NewClock() *Clock {
	return &Clock{t: time.Date(2026, 1, 31, 8, 0, 0, 123456000, time.UTC)}
}

// Now is a clock.Clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

// Advance moves the clock.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

// A bench is a fresh store with a standing clock.
type bench struct {
	*testing.T
	ctx   context.Context
	dsn   string
	clock *Clock
	s     *store.Store
}

func setup(t *testing.T, target Target) *bench {
	t.Helper()
	b := newBench(t, target)
	b.s = b.open(store.Options{})
	return b
}

func newBench(t *testing.T, target Target) *bench {
	return &bench{T: t, ctx: t.Context(), dsn: target.DSN(t), clock: NewClock()}
}

func (b *bench) open(o store.Options) *store.Store {
	b.Helper()
	if o.Clock == nil {
		o.Clock = b.clock.Now
	}
	s, err := store.Open(b.ctx, b.dsn, o)
	if err != nil {
		b.Fatalf("open: %v", err)
	}
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Errorf("close: %v", err)
		}
	})
	return s
}

// task returns a task whose source is the given name.
func task(name string, change ...func(*store.NewTask)) store.NewTask {
	t := store.NewTask{
		Intent:      agentruntime.TaskIntent{TaskType: "demo", Source: name, Payload: json.RawMessage(`{}`)},
		ProfileID:   "default",
		MaxAttempts: 3,
	}
	for _, c := range change {
		c(&t)
	}
	return t
}

func priority(p int64) func(*store.NewTask)  { return func(t *store.NewTask) { t.Priority = p } }
func at(when time.Time) func(*store.NewTask) { return func(t *store.NewTask) { t.AvailableAt = when } }
func attempts(n int) func(*store.NewTask)    { return func(t *store.NewTask) { t.MaxAttempts = n } }
func typed(name string) func(*store.NewTask) {
	return func(t *store.NewTask) { t.Intent.TaskType = name }
}
func key(k string) func(*store.NewTask) { return func(t *store.NewTask) { t.DedupeKey = k } }
func window(d time.Duration) func(*store.NewTask) {
	return func(t *store.NewTask) { t.DedupeWindow = d }
}

func (b *bench) add(tasks ...store.NewTask) []string {
	b.Helper()
	out, err := b.s.Enqueue(b.ctx, tasks...)
	b.ok(err)
	ids := make([]string, len(out))
	for i, e := range out {
		ids[i] = e.TaskID
	}
	return ids
}

var lease = store.ClaimOptions{RunnerID: "r1", Lease: time.Minute}

func (b *bench) claim() *store.Claim {
	b.Helper()
	c, err := b.s.Claim(b.ctx, lease)
	b.ok(err)
	return c
}

func (b *bench) begun() *store.Claim {
	b.Helper()
	c := b.claim()
	b.ok(b.s.Begin(b.ctx, c.Ref, store.Begin{AdapterID: "a", AdapterKind: "script"}))
	return c
}

func (b *bench) task(id string) store.Task {
	b.Helper()
	t, err := b.s.Task(b.ctx, id)
	b.ok(err)
	return t
}

func (b *bench) status(id string) agentruntime.TaskStatus {
	b.Helper()
	return b.task(id).Record.Status
}

func (b *bench) wantStatus(id string, want agentruntime.TaskStatus) {
	b.Helper()
	if got := b.status(id); got != want {
		b.Fatalf("task is %s, want %s", got, want)
	}
}

// types lists the types of a task's events.
func (b *bench) types(id string) []string {
	b.Helper()
	list, err := b.s.Events(b.ctx, store.EventFilter{TaskID: id})
	b.ok(err)
	var out []string
	for _, e := range list {
		out = append(out, e.Type)
	}
	return out
}

func (b *bench) ok(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b *bench) is(err, want error) {
	b.Helper()
	if !errors.Is(err, want) {
		b.Fatalf("got error %v, want %v", err, want)
	}
}

func (b *bench) same(got, want any) {
	b.Helper()
	if d := cmp.Diff(want, got); d != "" {
		b.Fatalf("differs (-want +got):\n%s", d)
	}
}

// audit fails when a task would wait for ever.
func (b *bench) audit() {
	b.Helper()
	faults, err := b.s.Audit(b.ctx)
	b.ok(err)
	if len(faults) > 0 {
		b.Fatalf("audit: %v", faults)
	}
}

// done, failed and so on are settlements.
func done() store.Settlement {
	return store.Settlement{
		State: "completed", Class: "none", Status: agentruntime.TaskCompleted,
		Outcome: &agentruntime.TaskOutcome{Status: agentruntime.TaskCompleted, MachineStatus: agentruntime.MachineOK, OperatorSummary: "done"},
	}
}

func retryable(when time.Time, msg string) store.Settlement {
	return store.Settlement{
		State: "failed_terminal", Class: "agent_failed", Status: agentruntime.TaskRetryableFailure, AvailableAt: when, LastError: msg,
	}
}

func permanent(msg string) store.Settlement {
	return store.Settlement{State: "failed_terminal", Class: "config", Status: agentruntime.TaskPermanentFailure, LastError: msg}
}

func blocked(prompt string) store.Settlement {
	return store.Settlement{
		State: "resumable", Class: "blocked", Status: agentruntime.TaskBlocked,
		Action: &store.NewAction{Kind: "question", Prompt: prompt, Detail: json.RawMessage(`{"choices": ["a", "b"]}`)},
	}
}

func canceled(msg string) store.Settlement {
	return store.Settlement{State: "failed_terminal", Class: "canceled", Status: agentruntime.TaskOperatorCanceled, LastError: msg}
}

func names(n int, prefix string) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("%s%03d", prefix, i)
	}
	return out
}
