package job

import (
	"context"
	"errors"
	"sync"

	"github.com/flotilla-llm/flotilla"
)

// source gives a fleet the calls of a job that are still to be made, from both
// ends of the input, and takes their results to OUT. It is a flotilla.Deque.
type source struct {
	x      *index
	w      *writer
	name   string // the job's, in wire ids
	limit  int    // calls below it are this run's
	noSync bool   // no org takes sync calls

	mu       sync.Mutex
	standing Standing
	again    map[int]resend // settled calls that --retry sends again
	canary   canary
	left     int     // calls of this run that have not settled
	settled  callSet // calls that settled in this run

	// A call that is wanted is free, or out, or kept for a batch of an earlier run
	// that the fleet has not taken over, or held with its canary, or waits for an
	// equal one before it.
	free, out, kept callSet
	batched         callSet // those out that are in batches
	inBatches       int     // how many
	near            int     // no call below it is free
	shelves         []*shelf
	shelfOf         []int // of a kind: that of calls not in doubt; the next is for those that are
	back            map[int]setback

	failFast bool
	hook     func(*Answer, resend) // told of every result
	append   func([]flotilla.Record) error

	chains chains
	anew   func(a *Answer, body []byte) (*resend, error) // as Run has it
	over   bool                                          // the fleet was told that no more calls come
	asked  int                                           // calls that are to be asked anew and wait
}

// resend is why a settled call is sent again, and with which body.
type resend struct {
	why  string     // errored, expired, canceled, truncated, refused
	was  tallied    // what its old answer counted as
	grow *grownBody // a body of its own, such as that with more room; nil: the row's

	craft bool           // the craft wants it: the call has no answer yet
	tried []string       // as a chain has it, once the answer has come
	cost  flotilla.Money // of the answer before
}

// anewFor is why the craft wants the call asked anew; empty: it does not.
func (r resend) anewFor() string {
	if !r.craft {
		return ""
	}
	return r.tried[len(r.tried)-1]
}

// errFailFast ends a run at its first row that errored.
var errFailFast = errors.New("a row errored and --fail-fast was given")

// remaining is how many calls have not settled.
func (s *source) remaining() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.left
}

// stock makes all calls free that may be sent, but for those in batches of
// earlier runs. A fleet forgets what it did not send when its part ends.
func (s *source) stock(batches []flotilla.OpenBatch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.x.calls()
	s.free, s.out, s.kept, s.batched = newCallSet(n), newCallSet(n), newCallSet(n), newCallSet(n)
	s.near, s.inBatches, s.over = n, 0, false
	for i := range batches {
		for _, call := range batches[i].Rows {
			if s.x.holds(call) && s.wants(call) {
				s.kept.add(call)
			}
		}
	}
	s.shelve()
	for call := range s.limit {
		if s.pending(call) && !s.kept.has(call) && !s.canary.holds(call) {
			s.putBack(call)
		}
	}
	s.canary.out = -1
	if call := s.canary.peek(); call >= 0 && s.kept.has(call) {
		s.canary.send(call) // it is in a batch of its own
	}
}

// wants says that a call has no answer that stands.
func (s *source) wants(call int) bool {
	if s.x.row(call).kind == noKind || s.settled.has(call) {
		return false
	}
	_, again := s.again[call]
	return again || s.standing.Outcome(call) == Pending
}

// pending says that a call is to be made: it wants an answer, and no equal call
// before it will bring one (--dedupe).
func (s *source) pending(call int) bool {
	if !s.wants(call) {
		return false
	}
	return !s.x.follows(call) || !s.wants(s.x.leader(call))
}

func (s *source) row(call int) flotilla.Row {
	e := s.x.row(call)
	row := flotilla.Row{Index: call, Facts: s.x.facts(e), Nth: s.x.nth(call), Affinity: s.x.kinds[e.kind].affinity}
	row.Failed, row.InDoubt = s.setback(call)
	if r, ok := s.again[call]; ok && r.grow != nil {
		out := row.Facts.Out
		row.Facts = r.grow.facts
		row.Facts.Out = out
	}
	return row
}

// Body makes the body of a call that is about to leave.
func (s *source) Body(call int) ([]byte, error) {
	s.mu.Lock()
	r, again := s.again[call]
	s.mu.Unlock()
	if again && r.grow != nil {
		return r.grow.body, nil
	}
	var rec record
	if err := s.x.read(call/s.x.repeats, &rec); err != nil {
		return nil, err
	}
	return s.x.build.body(nil, &rec, s.x.ask(call))
}

// Settled takes a result, which is durable by now, to OUT.
func (s *source) Settled(_ context.Context, res flotilla.Result) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var budget *flotilla.BudgetExceededError
	if errors.As(res.Err, &budget) {
		return nil // the run ends at its cap; the call stays pending
	}
	a := answerOf(&res)
	a.Hash = s.sentHash(a.Row)
	verdict, held := s.canary.settled(&a)
	if verdict == canaryHolds {
		return nil
	}
	if verdict == canaryStops {
		return s.canaryError(held, a)
	}
	if held != nil {
		if err := s.deliver(held); err != nil {
			return err
		}
	}
	return s.deliver(&a)
}

// sentHash is the hash of the body that a call was sent with.
func (s *source) sentHash(call int) [16]byte {
	if r, ok := s.again[call]; ok && r.grow != nil {
		return r.grow.facts.Hash
	}
	return s.x.row(call).key
}

// deliver writes the line of an answer, and those of the calls that share it.
func (s *source) deliver(a *Answer) error {
	r := s.again[a.Row]
	if s.x.build.craft != nil {
		if again, err := s.askAnew(a, &r); again || err != nil {
			return err
		}
	}
	s.took(a.Row)
	if a.Row < s.limit {
		s.hook(a, r)
	}
	if err := s.w.settle(a, r.why); err != nil {
		return err
	}
	if err := s.share(a); err != nil {
		return err
	}
	if s.failFast && a.Outcome != Succeeded {
		return errFailFast
	}
	return nil
}

// askAnew lines a call up with its next body, where its craft wants it asked anew.
// Once the fleet knows that no more calls come, it waits for a part of its own.
func (s *source) askAnew(a *Answer, r *resend) (bool, error) {
	s.chains.settled(s.x, a.Row, r)
	var body []byte
	if r.grow != nil {
		body = r.grow.body
	}
	next, err := s.anew(a, body)
	if next == nil || err != nil {
		return false, err
	}
	next.was = r.was
	s.in(a.Row)
	delete(s.back, a.Row)
	s.again[a.Row] = *next
	if !s.over && a.Row < s.limit {
		s.putBack(a.Row)
	} else {
		s.asked++
	}
	return true, nil
}

// waiting says whether calls are to be asked anew, and have them no longer wait.
func (s *source) waiting() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.asked
	s.asked = 0
	return n > 0
}

// took notes that a call has settled.
func (s *source) took(call int) {
	if s.free.has(call) { // it shares an answer
		s.takeOff(call)
	}
	s.in(call)
	delete(s.again, call)
	delete(s.back, call)
	s.settled.add(call)
	if call < s.limit {
		s.left--
	}
}

// share gives an answer to the calls with an equal body behind it (--dedupe).
// They cost nothing, and are durable before their lines are written.
func (s *source) share(a *Answer) error {
	if !s.x.build.shape.Dedupe {
		return nil
	}
	var records []flotilla.Record
	var shared []Answer
	for _, row := range s.x.twins(a.Row / s.x.repeats) {
		call := int(row)*s.x.repeats + a.Row%s.x.repeats
		if call == a.Row || call >= s.limit || !s.wants(call) || s.out.has(call) {
			continue
		}
		one := *a
		one.Row, one.Cost, one.Attempts = call, 0, 0
		shared = append(shared, one)
		records = append(records, s.x.record(&one))
	}
	if len(shared) == 0 {
		return nil
	}
	if err := s.append(records); err != nil {
		return err
	}
	for i := range shared {
		r := s.again[shared[i].Row]
		s.took(shared[i].Row)
		s.hook(&shared[i], r)
		if err := s.w.settle(&shared[i], r.why); err != nil {
			return err
		}
	}
	return nil
}

// record is an answer that settles a call without an attempt.
func (x *index) record(a *Answer) flotilla.Record {
	return flotilla.Record{
		Kind: flotilla.OutcomeRecord, Row: a.Row, At: a.When, Org: a.Org, Pool: x.kinds[x.row(a.Row).kind].pool, Tier: a.Tier, Model: a.Model,
		Type: a.Outcome.String(), Hash: a.Hash, Nth: x.nth(a.Row), Answer: a.Body, Latency: a.Latency, Status: a.Status,
		StopReason: a.StopReason, Emulated: a.Emulated,
	}
}
