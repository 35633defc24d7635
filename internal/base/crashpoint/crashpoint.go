// Package crashpoint owns the named places at which a test can make the real binary die as if the power went. It
// does nothing unless DEED_CRASHPOINT names the place; NAME#3 is the third time that the process comes there.
package crashpoint

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

// A Point is a durable step at which a crash must lose nothing and do nothing twice.
type Point string

// The points, in the order in which a task meets them. The crash test walks this list, so a point that is added
// here is tested.
const (
	EnqueueBefore     Point = "enqueue.before"
	EnqueueCommitted  Point = "enqueue.committed"
	ClaimCommitted    Point = "claim.committed"
	WorkspaceSeeded   Point = "attempt.workspace_seeded"
	BeginCommitted    Point = "attempt.begin_committed"
	DriverStarted     Point = "attempt.driver_started"
	DriverEnded       Point = "attempt.driver_ended"
	GateDecided       Point = "attempt.gate_decided"
	SettlementWritten Point = "attempt.settlement_written"
	BundlePublished   Point = "attempt.bundle_published"
	SettleCommitted   Point = "settle.committed"
	CleanupDone       Point = "settle.cleanup_done"
	DeliverBefore     Point = "deliver.before"
	DeliverCommitted  Point = "deliver.committed"
)

// The points in the life of a run's record.
const (
	RunRecorded Point = "run.recorded" // in the store, not in its file
	RunEnded    Point = "run.ended"    // ended in the store, not in its file and not cleaned up
	RunCleaned  Point = "run.cleaned"  // cleaned up in the store, not in its file
)

// Runs lists the points of runs in order; a test of their sweep walks it.
var Runs = []Point{RunRecorded, RunEnded, RunCleaned}

// The points that applying a bundle, and undoing that, meets. A test of its own walks them.
const (
	ApplyJournaled Point = "apply.journaled"
	ApplyStaged    Point = "apply.staged"
	ApplyHalf      Point = "apply.half"
	ApplySwitched  Point = "apply.switched"
	ApplyMarked    Point = "apply.marked"
	UndoJournaled  Point = "undo.journaled"
	UndoRestored   Point = "undo.restored"
)

// The points in a conversation of the native agent. A separate test walks them.
const (
	LoopAnswered   Point = "loop.answered"    // the model's answer is written
	LoopStarted    Point = "loop.started"     // a call is durable, and not carried out
	LoopCarriedOut Point = "loop.carried_out" // it is carried out, and its result is nowhere
	LoopSettled    Point = "loop.settled"     // its result is durable
	LoopCompacted  Point = "loop.compacted"   // the conversation was shortened
)

// OfLoop lists the points of a conversation.
var OfLoop = []Point{LoopAnswered, LoopStarted, LoopCarriedOut, LoopSettled, LoopCompacted}

// The points of a fix that may have to be taken back. A test of its own walks them.
const (
	FixCopied       Point = "fix.copied"        // the copy is durable, and no fixer ran
	FixWritten      Point = "fix.written"       // the fixers ran, and nothing is verified
	FixHalfRestored Point = "fix.half_restored" // one file of several is back
	FixRestored     Point = "fix.restored"      // all are back, and the record is still there
	FixKept         Point = "fix.kept"          // the record is gone, and the copy is still there
)

// OfFix lists the points of a fix.
var OfFix = []Point{FixCopied, FixWritten, FixHalfRestored, FixRestored, FixKept}

// The points of installing a runtime package. A test of its own walks them.
const (
	RuntimeUnpacked Point = "runtime.unpacked" // its files are staged
	RuntimeStored   Point = "runtime.stored"   // they have their place, and no name
	RuntimeLinked   Point = "runtime.linked"   // they have their name, and the directory is not synced
	RuntimeRemoved  Point = "runtime.removed"  // a name is gone, and the files are still there
)

// OfRuntime lists the points of installing and removing a runtime package.
var OfRuntime = []Point{RuntimeUnpacked, RuntimeStored, RuntimeLinked, RuntimeRemoved}

// The points of a fanout. A separate test walks them, and also those of the tasks that stand for its items.
const (
	FanoutCreated  Point = "fanout.created"  // it is recorded, and nothing of it is released
	FanoutReleased Point = "fanout.released" // an item and its task exist, and the task is not running
	FanoutSettled  Point = "fanout.settled"  // a task has ended, and its item has no record
	FanoutRecorded Point = "fanout.recorded" // a record is there, and the run file does not have it
	FanoutAgain    Point = "fanout.again"    // an item waits for its next try
)

// OfFanout lists the points of a fanout.
var OfFanout = []Point{FanoutCreated, FanoutReleased, FanoutSettled, FanoutRecorded, FanoutAgain}

// The points of a schedule. A test of its own walks them.
const (
	ScheduleDue Point = "schedule.due" // its task is prepared, and not queued
	ScheduleRun Point = "schedule.run" // it is queued, and the cycle does not know
)

// OfSchedule lists the points of a schedule.
var OfSchedule = []Point{ScheduleDue, ScheduleRun}

// The points of a revision of a constitution. A test of its own walks them.
const (
	RevisionKept     Point = "revision.kept"     // its documents are in the home, and nothing is proposed
	RevisionProposed Point = "revision.proposed" // it waits for an operator
	RevisionChecked  Point = "revision.checked"  // an operator decided, and nothing of it is stored
	RevisionDecided  Point = "revision.decided"  // it is stored, and not yet announced
)

// OfRevision lists the points of a revision.
var OfRevision = []Point{RevisionKept, RevisionProposed, RevisionChecked, RevisionDecided}

// The points of installing a skill. A test of its own walks them.
const (
	SkillStaged    Point = "skill.staged"    // its files are written, and not yet visible
	SkillPublished Point = "skill.published" // it has its place, and what it replaced is not removed
	SkillRemoved   Point = "skill.removed"   // its name is gone, and its files are not
)

// OfSkill lists the points of installing a skill, one version and then the next.
var OfSkill = []Point{SkillStaged, SkillPublished}

// The points of removing a version of a skill that is no longer needed. A separate test walks them.
const (
	DocumentHidden  Point = "document.hidden"  // it has lost its name, and is still there
	DocumentRemoved Point = "document.removed" // it is gone, and what only it listed is not
)

// OfDocument lists the points of giving up a document.
var OfDocument = []Point{DocumentHidden, DocumentRemoved}

// The points of taking an agent in. A test of its own walks them.
const (
	ImportBegun     Point = "import.begun"      // what it will write is on record, and nothing of it is written
	ImportHalf      Point = "import.half"       // one of its files is there
	ImportPublished Point = "import.published"  // all of its files are there, and none of its rows
	ImportCommitted Point = "import.committed"  // all of it is there, and the record of it too
	ImportTakenBack Point = "import.taken_back" // one of the files of a broken import is gone
)

// OfImport lists the points of an import.
var OfImport = []Point{ImportBegun, ImportHalf, ImportPublished, ImportCommitted}

// The points of sending a message. A test of its own walks them.
const (
	SendBefore Point = "send.before" // it is taken, and its target knows nothing of it
	SendDone   Point = "send.done"   // its target took it, and the store does not know
)

// OfSend lists the points of sending a message.
var OfSend = []Point{SendBefore, SendDone}

// The points of a write over HTTP with a key by which it may be sent again. A test of its own walks them.
const (
	RequestBegun Point = "request.begun" // its key is marked, and nothing is done
	RequestActed Point = "request.acted" // it is done, and its answer is kept nowhere
	RequestKept  Point = "request.kept"  // its answer is kept, and the client has not got it
)

// OfRequest lists the points of such a write.
var OfRequest = []Point{RequestBegun, RequestActed, RequestKept}

// The points of a step of a workflow. A test of its own walks them.
const (
	WorkflowPrepared Point = "workflow.prepared" // the step is decided, and nothing of it is stored
	WorkflowMoved    Point = "workflow.moved"    // it is stored, with the task that follows
)

// OfWorkflow lists the points of a step.
var OfWorkflow = []Point{WorkflowPrepared, WorkflowMoved}

// The points of taking what a sensor saw. A test of its own walks them.
const (
	SensorLooked   Point = "sensor.looked"   // something new is there, and nothing of it is stored
	SensorPrepared Point = "sensor.prepared" // what follows is decided, and nothing of it is stored
	SensorTaken    Point = "sensor.taken"    // it is stored, and its source does not know
)

// OfSensor lists the points of taking an event.
var OfSensor = []Point{SensorLooked, SensorPrepared, SensorTaken}

// StoreWritten is after every transaction of the store, so that a crash can come between any two durable steps, named or not:
// store.written#7 is after the seventh.
const StoreWritten Point = "store.written"

// The points of taking a bundle to a branch. A test of its own walks them.
const (
	PromotePrepared  Point = "promote.prepared"  // everything is checked, and no gate ran
	PromoteGated     Point = "promote.gated"     // every gate passed, and there is no commit
	PromoteCommitted Point = "promote.committed" // the branch has the commit, and nothing was reported
	PromoteAudited   Point = "promote.audited"   // it is in the audit log, and not pushed
)

// OfPromotion lists the points of a promotion.
var OfPromotion = []Point{PromotePrepared, PromoteGated, PromoteCommitted, PromoteAudited}

// The points of publishing a workspace. A test of its own walks them; the first two are those of every commit that deed makes.
const (
	CommitHalf       Point = "commit.half"       // an object of the commit is written, and has no name
	CommitObjects    Point = "commit.objects"    // every object has its place, and no branch leads to them
	PublishChecked   Point = "publish.checked"   // the remote was asked, and nothing is written
	PublishCommitted Point = "publish.committed" // the branch has the commit, and the remote does not
	PublishPushed    Point = "publish.pushed"    // the remote has it, and no pull request was requested
	PublishOpened    Point = "publish.opened"    // the hook has answered, and the caller has not got the answer
)

// OfPublication lists the points of a publication in order.
var OfPublication = []Point{PublishChecked, CommitHalf, CommitObjects, PublishCommitted, PublishPushed, PublishOpened}

// All lists the points of a task in order.
var All = []Point{
	EnqueueBefore, EnqueueCommitted, ClaimCommitted, WorkspaceSeeded, BeginCommitted, DriverStarted, DriverEnded,
	GateDecided, SettlementWritten, BundlePublished, SettleCommitted, CleanupDone, DeliverBefore, DeliverCommitted,
}

// OfApply lists the points of an apply, OfUndo those of an undo.
var (
	OfApply = []Point{ApplyJournaled, ApplyStaged, ApplyHalf, ApplySwitched, ApplyMarked}
	OfUndo  = []Point{UndoJournaled, UndoRestored}
)

var (
	armed, nth = parse(os.Getenv("DEED_CRASHPOINT"))
	hits       atomic.Int64
)

// parse reads NAME or NAME#N.
func parse(s string) (Point, int64) {
	name, count, _ := strings.Cut(s, "#")
	n, err := strconv.ParseInt(count, 10, 64)
	if err != nil || n < 1 {
		n = 1
	}
	return Point(name), n
}

// played is what a test put in the place of a crash.
var played atomic.Pointer[func(Point)]

// Play lets a test that plays many deaths of a process inside its own be called at every point, until stop. A call that never
// returns is a goroutine that is dead: like a killed process it runs nothing more, not even what it deferred.
func Play(at func(Point)) (stop func()) {
	played.Store(&at)
	return func() { played.Store(nil) }
}

// Hit kills this process with SIGKILL when the point is armed: no deferred call runs, no buffer is flushed.
func Hit(p Point) {
	if at := played.Load(); at != nil {
		(*at)(p)
	}
	if armed != "" && armed == p && hits.Add(1) == nth {
		_ = syscall.Kill(syscall.Getpid(), syscall.SIGKILL)
		select {}
	}
}
