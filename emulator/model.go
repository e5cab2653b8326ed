package emulator

import (
	"time"
)

// Never is later than everything: a client of the model that has nothing to do.
const Never = time.Duration(1<<63 - 1)

// Model is the provider on passed-in time. Times are since the start given to
// [NewModel] and must not decrease from call to call. It is not safe for
// concurrent use.
type Model struct {
	sc    Scenario
	seed  uint64
	start time.Time
	frac  time.Duration // of start, past its whole second

	orgs  []orgState
	lanes [][]*lane // by org and pool
	pool  []int     // pool index by model index; -1: none
	pace  []Latency // by model index

	queue   queue
	free    []*Exchange
	clients []Client
	nested  bool // inside a client's Act
	now     time.Duration

	bodies map[[16]byte]int32 // index into counts
	counts []body
	freed  map[int32][]uint32 // answer numbers given back, smallest first

	queues   []*batchQueue // by org
	pacing   Batching
	batchDue time.Duration // first event of any queue
	scratch  Exchange      // for rows of batches

	cache  map[cacheKey]cached
	writes uint64 // of prefixes, by exchange

	distinct int64
}

// orgState is an org in use.
type orgState struct {
	Org
	index   int
	spent   int64 // nano-dollars in month
	month   time.Month
	others  tally
	nowhere PoolStats // requests that reached no pool
	count   bucket    // of count_tokens requests
	countAt time.Duration
}

// body counts what came of one body.
type body struct {
	arrivals uint32
	answers  uint32 // numbers of complete answers given out
	freed    uint32 // of these, given back
}

// tally counts requests and how many of them were refused.
type tally struct{ requests, refused int64 }

// NewModel makes a fresh provider whose time 0 is start. A scenario that is
// not valid ([Scenario.Check]) is used as far as it makes sense.
func NewModel(sc Scenario, seed uint64, start time.Time) *Model {
	m := &Model{
		sc: sc, seed: seed, start: start,
		frac:   time.Duration(start.Nanosecond()),
		bodies: map[[16]byte]int32{},
		freed:  map[int32][]uint32{},
		cache:  map[cacheKey]cached{},
	}
	m.pool = make([]int, len(catalog))
	m.pace = make([]Latency, len(catalog))
	for i := range catalog {
		m.pool[i] = poolIndex(catalog[i].pool)
		m.pace[i] = sc.latency(catalog[i].family)
	}
	m.orgs = make([]orgState, len(sc.Orgs))
	m.lanes = make([][]*lane, len(sc.Orgs))
	for i := range m.orgs {
		m.orgs[i] = orgState{Org: sc.Orgs[i], index: i, month: start.UTC().Month(), count: newBucket(sc.Orgs[i].countRPM(), 1)}
		m.lanes[i] = make([]*lane, len(pools))
		for p := range pools {
			m.lanes[i][p] = newLane(&m.orgs[i], p)
			m.lanes[i][p].accel.minute = m.minute(0)
		}
	}
	m.pacing, m.batchDue = sc.batching(), Never
	for i := range m.orgs {
		m.queues = append(m.queues, newBatchQueue(m, i))
	}
	m.planBatches()
	return m
}

func poolIndex(name string) int {
	for i, p := range pools {
		if p == name {
			return i
		}
	}
	return -1
}

func (sc *Scenario) latency(family string) Latency {
	if l, ok := sc.Families[family]; ok {
		return l
	}
	return sc.Latency
}

// Scenario is the world the model was made of.
func (m *Model) Scenario() Scenario { return m.sc }

// Seed is the seed the model was made with.
func (m *Model) Seed() uint64 { return m.seed }

// Start is the wall-clock time of the model's time 0.
func (m *Model) Start() time.Time { return m.start }

// OrgIndex finds an org by name.
func (m *Model) OrgIndex(name string) (int, bool) {
	for i := range m.orgs {
		if m.orgs[i].Name == name {
			return i, true
		}
	}
	return 0, false
}

// minute counts wall-clock minutes: acceleration ceilings change with them.
func (m *Model) minute(now time.Duration) int64 {
	return (m.start.Unix() + int64((m.frac+now)/time.Second)) / 60
}

// Advance lets the model's own events up to now happen: outputs that begin and
// end, batches that proceed, clients that act.
func (m *Model) Advance(now time.Duration) {
	m.advanceBatches(now)
	if m.nested {
		m.settleUntil(now)
		return
	}
	for {
		c, at := m.nextClient()
		if c == nil || at > now {
			break
		}
		m.settleUntil(at)
		m.nested = true
		c.Act(at, m)
		m.nested = false
	}
	m.settleUntil(now)
}

// settleUntil handles begins and ends in time order, those at now included.
func (m *Model) settleUntil(now time.Duration) {
	m.now = max(m.now, now)
	for len(m.queue.xs) > 0 && m.queue.xs[0].due <= now {
		x := m.queue.xs[0]
		x.lane.advance(x.due)
		if x.phase == waiting && x.FirstToken < x.End {
			x.lane.begin(x)
			x.phase = flowing
			m.publish(x, true)
			x.due = x.End
			m.queue.down(0)
			continue
		}
		m.queue.remove(x)
		m.settle(x.End, x)
	}
}

// NextInternal is when something of the model's own that others can feel
// happens next: a colleague that acts. A batch that ends is felt by nobody who
// does not ask. [Never] if nothing does. Nobody has to
// call the model then; it catches up by itself.
func (m *Model) NextInternal() time.Duration {
	_, at := m.nextClient()
	return at
}

// Finish is called at the exchange's End, when the client has the last byte,
// the error or the reset.
func (m *Model) Finish(now time.Duration, _ *Exchange) { m.Advance(now) }

// Cancel says that the client went away before End: the slot is free, and what
// was produced so far is billed. An exchange that has ended is left as it is.
func (m *Model) Cancel(now time.Duration, x *Exchange) {
	m.Advance(now)
	if x.phase == finished {
		return
	}
	m.queue.remove(x)
	x.lane.advance(now)
	x.Usage.Output = x.Produced(now)
	x.Fault, x.End = DropAfter, now
	if now < x.FirstByte {
		x.Fault = DropBefore
	}
	m.giveBack(x)
	m.settle(now, x)
}

// Release gives an exchange back. One that is still under way goes on and is
// released by itself at its end.
func (m *Model) Release(x *Exchange) {
	if x.phase != finished {
		x.loose = true
		return
	}
	m.free = append(m.free, x)
}

func (m *Model) get() *Exchange {
	n := len(m.free)
	if n == 0 {
		return new(Exchange)
	}
	x := m.free[n-1]
	m.free = m.free[:n-1]
	*x = Exchange{}
	return x
}
