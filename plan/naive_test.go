package plan

import (
	"container/heap"
	"math/rand/v2"
	"time"

	"github.com/flotilla-llm/flotilla/internal/sched"
)

// naive is a Brain of the kind that users write: a queue, and a policy per
// lane. It knows nothing of limit headers.
type naive struct {
	policy func(cap int, rng *rand.Rand) policy
	rng    *rand.Rand
	now    time.Duration

	lanes    []*naiveLane
	queue    []sched.CallID // from head on
	head     int
	waits    naiveWaits
	attempts map[sched.AttemptID]naiveAttempt
	tries    map[sched.CallID]int // of calls that failed
	last     sched.AttemptID
	turn     int
	acts     []sched.Action
}

type naiveLane struct {
	policy
	busy int           // attempts in flight, and slots kept while waiting
	hold time.Duration // nothing is sent before
}

type naiveAttempt struct {
	call sched.CallID
	lane int
	sent time.Duration
}

// naiveWait is a call that waits to be tried again.
type naiveWait struct {
	due  time.Duration
	call sched.CallID
	lane int // whose slot it keeps; -1: none
}

// policy is what tells naive controllers apart.
type policy interface {
	// window is how many attempts the lane may have in flight.
	window() int
	// sent is told of each send, with the attempts in flight then.
	sent(busy int)
	succeeded(now time.Duration)
	// failed is told of an attempt, the try-th of its call, that was refused
	// or broke off; overload is an error that is not a 429.
	failed(now, sent, retryAfter time.Duration, overload bool, try int) verdict
}

// verdict is what becomes of a failed call.
type verdict struct {
	wait   time.Duration // before it is tried again
	slot   bool          // it keeps its slot while it waits
	hold   time.Duration // the lane sends nothing for so long
	giveUp bool
}

func newNaive(seed uint64, p func(cap int, rng *rand.Rand) policy) *naive {
	return &naive{
		policy: p, rng: rand.New(rand.NewPCG(seed, 0x6e61697665)),
		attempts: map[sched.AttemptID]naiveAttempt{}, tries: map[sched.CallID]int{},
	}
}

func (n *naive) Step(now time.Duration, ev sched.Event) []sched.Action {
	n.now, n.acts = now, n.acts[:0]
	switch e := ev.(type) {
	case *sched.AddLane:
		n.lanes = append(n.lanes, &naiveLane{policy: n.policy(e.Lane.Cap, n.rng)})
	case *sched.Offer:
		for i := range e.Calls {
			n.queue = append(n.queue, e.Calls[i].ID)
		}
	case *sched.Done:
		a := n.take(e.Attempt)
		n.lanes[a.lane].succeeded(now)
		n.settle(a, e.Attempt, sched.Succeeded, e.Cost)
	case *sched.Refused:
		n.failed(e.Attempt, e.Refusal.RetryAfter, e.Refusal.Class >= sched.Overloaded)
	case *sched.Failed:
		n.failed(e.Attempt, 0, true)
	}
	n.dispatch()
	return n.acts
}

func (n *naive) take(id sched.AttemptID) naiveAttempt {
	a := n.attempts[id]
	delete(n.attempts, id)
	n.lanes[a.lane].busy--
	return a
}

func (n *naive) settle(a naiveAttempt, id sched.AttemptID, o sched.Outcome, cost int64) {
	n.acts = append(n.acts, &sched.Settle{Call: a.call, Attempt: id, Outcome: o, Attempts: n.tries[a.call] + 1, Cost: cost})
}

func (n *naive) failed(id sched.AttemptID, retryAfter time.Duration, overload bool) {
	a := n.take(id)
	l := n.lanes[a.lane]
	n.tries[a.call]++
	v := l.policy.failed(n.now, a.sent, retryAfter, overload, n.tries[a.call])
	l.hold = max(l.hold, n.now+v.hold)
	if v.giveUp {
		n.settle(a, id, sched.Errored, 0)
		return
	}
	w := naiveWait{due: n.now + v.wait, call: a.call, lane: -1}
	if v.slot {
		w.lane = a.lane
		l.busy++
	}
	heap.Push(&n.waits, w)
}

// dispatch sends what waits no longer, then from the queue, over all lanes
// that have room, in turn.
func (n *naive) dispatch() {
	var free []sched.CallID
	for len(n.waits) > 0 && n.waits[0].due <= n.now {
		w := heap.Pop(&n.waits).(naiveWait)
		if w.lane < 0 {
			free = append(free, w.call)
			continue
		}
		n.lanes[w.lane].busy--
		n.send(w.call, w.lane)
	}
	if len(free) > 0 {
		n.queue = append(free, n.queue[n.head:]...)
		n.head = 0
	}
	for n.head < len(n.queue) {
		lane := n.room()
		if lane < 0 {
			return
		}
		n.head++
		n.send(n.queue[n.head-1], lane)
	}
}

// room finds a lane that may send now; -1: none.
func (n *naive) room() int {
	for range n.lanes {
		n.turn = (n.turn + 1) % len(n.lanes)
		if l := n.lanes[n.turn]; l.hold <= n.now && l.busy < l.window() {
			return n.turn
		}
	}
	return -1
}

func (n *naive) send(call sched.CallID, lane int) {
	n.last++
	l := n.lanes[lane]
	l.busy++
	l.sent(l.busy)
	n.attempts[n.last] = naiveAttempt{call, lane, n.now}
	n.acts = append(n.acts, &sched.Send{Call: call, Attempt: n.last, Lane: sched.LaneID(lane), Try: n.tries[call] + 1})
}

// Next is the end of the first wait, or of a hold that keeps calls back.
func (n *naive) Next() time.Duration {
	next := sched.Never
	if len(n.waits) > 0 {
		next = n.waits[0].due
	}
	for _, l := range n.lanes {
		if l.hold > n.now && n.head < len(n.queue) {
			next = min(next, l.hold)
		}
	}
	return next
}

// naiveWaits is a heap by due time, then by call.
type naiveWaits []naiveWait

func (h naiveWaits) Len() int { return len(h) }
func (h naiveWaits) Less(i, j int) bool {
	if h[i].due != h[j].due {
		return h[i].due < h[j].due
	}
	return h[i].call < h[j].call
}
func (h naiveWaits) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *naiveWaits) Push(x any)   { *h = append(*h, x.(naiveWait)) }
func (h *naiveWaits) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}
