package sched

import "time"

// Action is something the driver must do, in the order returned. The set is
// closed. Actions point into memory that the next Step reuses.
type Action interface{ action() }

// Persist asks for the intent to be durable before the Send that follows it.
type Persist struct {
	Call    CallID
	Attempt AttemptID
	Lane    LaneID
	Worst   int64 // nano-dollars reserved
}

// Send asks for one HTTP exchange. AttemptIDs rise by one with each Send, so
// they are the send sequence too.
type Send struct {
	Call    CallID
	Attempt AttemptID
	Lane    LaneID
	Try     int  // 1 for the first attempt of the call in this process
	Hedge   bool // a second attempt beside one in flight
	Probe   bool // a single try of a closed or unknown lane
}

// Abort asks for an attempt's exchange to be cancelled; the driver still
// answers with Failed{Aborted}, Done or Refused.
type Abort struct{ Attempt AttemptID }

// Settle says a call reached its final outcome, exactly once. Attempt is the
// one whose answer stands (0: none was made).
type Settle struct {
	Call     CallID
	Attempt  AttemptID
	Outcome  Outcome
	Attempts int   // attempts made in this process
	Cost     int64 // nano-dollars of all its attempts, known ones exact, in-doubt ones at worst case
	InDoubt  int   // attempts among them whose outcome is unknown
}

// Outcome is how a call ended.
type Outcome uint8

// Outcomes.
const (
	Succeeded  Outcome = iota
	Errored            // the provider's error on Attempt is final, or attempts are used up
	Canceled           // withdrawn
	OverBudget         // it alone costs more than the ledger can ever grant
	Unroutable         // no lane can ever take it (all denied its model)
	NumOutcomes
)

// Want says that a ledger's limit holds calls back; sent once each time it
// begins to, with what the head call needs beyond what is left.
type Want struct {
	Ledger LedgerID
	Nanos  int64
}

// Note is for people and traces: something about a lane changed.
type Note struct {
	Kind  NoteKind
	Lane  LaneID
	Class Class
	Until time.Duration // parked: when it may reopen; 0: unknown
	Value float64       // see NoteKind
	Dim   Dim
}

// NoteKind says what a Note is about.
type NoteKind uint8

// Notes.
const (
	NoteParked       NoteKind = iota // the lane, or for an account's class or Spend its whole org, stopped for Class; one note
	NoteReopened                     // it takes calls again
	NoteColleague                    // others use Value (0..1) of Dim's refill; sent on a change of a tenth
	NoteRamp                         // the ramp ceiling is now Value attempts
	NoteWindow                       // the AIMD window is now Value attempts, after Class
	NoteRate                         // the rate ceiling of Dim is now Value times the refill, after Class
	NoteBrake                        // the overload brake is now Value (0..1]
	NoteReserveMode                  // output limits reserve max_tokens (Value 1) or no longer (0)
	NoteCeiling                      // the first chosen ceiling of attempts is Value; Dim is unused
	NoteDailyLearned                 // the rolling daily cap is about Value tokens
	NoteStalled                      // a batch of Value rows is overdue
	NoteProceeds                     // the org's batches proceed again, at Value rows a second each
	NumNotes
)

func (*Persist) action() {}
func (*Send) action()    {}
func (*Abort) action()   {}
func (*Settle) action()  {}
func (*Want) action()    {}
func (*Note) action()    {}
