package flotilla

import (
	"time"

	"github.com/flotilla-llm/flotilla/internal/sched"
)

// Notice is something people should know while a fleet runs.
type Notice struct {
	At        time.Time
	Kind      NoticeKind
	Org, Pool string
	Class     string    // parked: why, by the names of NoticeKind's classes; canceled batches: one of the reasons below
	Until     time.Time // parked: when it may reopen; zero: unknown
	Value     float64
	Limit     string // colleague, rate: rpm, itpm, otpm or tpm

	BatchID string        // of batches: the provider's id; empty: not known
	Took    time.Duration // of batches: since its create
	Says    string        // refused batches: the API's words
}

// NoticeKind says what a Notice is about.
type NoticeKind uint8

// Notice kinds; what Value means is said with each.
const (
	LaneParked    NoticeKind = iota // an org's lane stopped for Class
	LaneReopened                    // it takes calls again
	ColleagueSeen                   // others use Value (0 to 1) of the limit
	RampStep                        // Value attempts may be in flight
	WindowChanged                   // the window is Value attempts after a refusal of Class
	RateChanged                     // the rate ceiling is Value times the refill
	BrakeChanged                    // the overload brake is Value
	ReserveMode                     // the output limit reserves max_tokens (1) or not (0)
	CeilingChosen                   // the first ceiling is Value attempts
	DailyLearned                    // the rolling daily cap is about Value tokens
	MachineSlept                    // the machine slept; connections were dropped
	StoreFailed                     // the store gave an error; nothing more is sent
	UsageBeyond                     // an answer says that it used Value dollars, beyond what its request can cost: its worst case is booked

	// Of batches; Value is how many rows the batch carries.
	BatchPlaced   // the provider has it
	BatchFound    // one whose create was in doubt is taken for this one, until its results prove it
	BatchEnded    // its results are in
	BatchCanceled // its end was asked for
	BatchStalled  // it is overdue: nothing new goes into its org's queue
	BatchGone     // it can no longer be asked for: its rows go again, its dollars stay in doubt
	BatchOrphaned // its org has no key here: its rows stay out
	BatchStrange  // what it was taken for is another's, and is left alone
	StrangeResult // its results name a row that is not in it, or one twice
	QueueFull     // the org's batch queue has no room for it

	BatchesProceed // the org's batches proceed again, at Value rows a second each
	Rescue         // sync takes what batches will not have answered in time: Value rows are not answered, those in batches included
	BatchRefused   // the API does not accept the batch: its org gets no more of the job
	BatchUnseen    // the provider has answered for a while that there is none such: it is asked for until it must have expired
)

// Reasons of a BatchCanceled, in Class; empty: an earlier run asked for it.
const (
	CancelDeadline = "deadline" // it would end too late: a rescue takes its rows
	CancelSooner   = "sooner"   // sync will be through with its rows sooner
	CancelStalled  = "stalled"  // it is overdue, or shows how far what is overdue came
	CancelAsked    = "asked"    // Options.CancelBatches
)

var cancelReasons = [...]string{
	sched.CancelLate: CancelDeadline, sched.CancelSooner: CancelSooner, sched.CancelStalled: CancelStalled,
}

// notify tells people.
func (f *Fleet) notify(n Notice) {
	if f.cfg.Notify != nil {
		f.cfg.Notify(n)
	}
}

// tellBatch tells people of a batch.
func (f *Fleet) tellBatch(now time.Duration, b *batch, kind NoticeKind, took time.Duration) {
	f.notify(f.batchNotice(now, b, kind, took))
}

func (f *Fleet) batchNotice(now time.Duration, b *batch, kind NoticeKind, took time.Duration) Notice {
	return Notice{
		At: f.clock.wall(now), Kind: kind, Org: b.org.Name, Pool: f.lanes[b.lane].pool.name,
		BatchID: b.provider, Value: float64(len(b.rows)), Took: took,
	}
}

var noticeKinds = [sched.NumNotes]NoticeKind{
	sched.NoteParked: LaneParked, sched.NoteReopened: LaneReopened, sched.NoteColleague: ColleagueSeen,
	sched.NoteRamp: RampStep, sched.NoteWindow: WindowChanged, sched.NoteRate: RateChanged, sched.NoteBrake: BrakeChanged,
	sched.NoteReserveMode: ReserveMode, sched.NoteCeiling: CeilingChosen, sched.NoteDailyLearned: DailyLearned,
	sched.NoteStalled: BatchStalled, sched.NoteProceeds: BatchesProceed,
}

// note passes a core's note on.
func (f *Fleet) note(now time.Duration, n *sched.Note) {
	l := &f.lanes[n.Lane]
	switch {
	case n.Kind == sched.NoteParked:
		f.parked = true
		if n.Class != sched.Daily {
			l.org.closed.Store(true)
		}
	case n.Kind == sched.NoteReopened && n.Class != sched.Daily:
		l.org.closed.Store(false)
	}
	if n.Kind == sched.NoteDailyLearned {
		// At once: the run that met the cap may stand for a day.
		f.remember(l, map[string]float64{hintDaily: n.Value})
	}
	if f.cfg.Notify == nil {
		return
	}
	out := Notice{At: f.clock.wall(now), Kind: noticeKinds[n.Kind], Org: l.org.Name, Pool: l.pool.name, Class: className(n.Class), Value: n.Value, Limit: dimName(n.Dim)}
	if n.Until > 0 && n.Until < sched.Never {
		out.Until = f.clock.wall(n.Until)
	}
	f.cfg.Notify(out)
}

func className(c sched.Class) string {
	switch c {
	case sched.RateLimited:
		return "steady"
	case sched.Acceleration:
		return "acceleration"
	case sched.Concurrency:
		return "concurrency"
	case sched.Daily:
		return "daily"
	case sched.Spend:
		return "spend"
	case sched.Auth:
		return "auth"
	case sched.Permission:
		return "permission"
	case sched.Credit:
		return "credit"
	case sched.Hold:
		return "hold"
	case sched.NoModel:
		return "model"
	case sched.QueueFull:
		return "queue_full"
	case sched.Overloaded:
		return "overloaded"
	case sched.ServerError, sched.Unknown504:
		return "server"
	case sched.Conflict:
		return "conflict"
	}
	return "invalid"
}

func dimName(d sched.Dim) string {
	switch d {
	case sched.Requests:
		return "rpm"
	case sched.Input:
		return "itpm"
	case sched.Output:
		return "otpm"
	}
	return "tpm"
}
