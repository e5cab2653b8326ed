package emulator

import "time"

// PoolStats counts what one pool of one org saw of our requests.
type PoolStats struct {
	Requests     int64
	Succeeded    int64 // whole answers
	Refused      [NumClasses]int64
	InputTokens  int64 // billed, all kinds
	OutputTokens int64 // billed
	Billed       int64 // nano-dollars
	PeakInFlight int64

	flying int64
}

// OrgStats is what one org saw.
type OrgStats struct {
	Name string
	// Pools are those that saw a request, in the catalog's order, and "none"
	// for requests that named no model there is.
	Pools []NamedPool
	// Colleagues' requests and refusals, over all pools.
	OtherRequests, OtherRefused int64
	Batches                     BatchStats
}

// BatchStats counts what one org saw of our batches.
type BatchStats struct {
	Created      int64 // batches
	Rows         int64 // of them
	Succeeded    int64 // rows of ended batches, by what became of them
	Errored      int64
	Canceled     int64
	Expired      int64
	PeakQueued   int64 // most rows waiting to be processed, colleagues' included
	HTTPRequests int64 // to any batch endpoint
	Billed       int64 // nano-dollars
}

func (s *BatchStats) add(c *BatchCounts) {
	s.Succeeded += c.Succeeded
	s.Errored += c.Errored
	s.Canceled += c.Canceled
	s.Expired += c.Expired
}

// NamedPool is a pool's stats with its name.
type NamedPool struct {
	Pool string
	PoolStats
}

// Stats counts our requests since the model began.
type Stats struct {
	Requests  int64 // of the sync tier
	Succeeded int64 // whole answers, of both tiers
	Distinct  int64 // bodies among them
	Billed    int64 // nano-dollars
	Orgs      []OrgStats
}

// minuteUse is one model's billed use in one wall-clock minute.
type minuteUse struct {
	minute int64 // since 1970
	model  int
	batch  bool
	Usage
}

// ended counts an exchange that ended as it arrived: refused or reset.
func (m *Model) ended(x *Exchange) {
	if x.Other {
		x.lane.org.others.requests++
		if x.Class != Admitted {
			x.lane.org.others.refused++
		}
		return
	}
	s := &x.lane.stats
	s.Requests++
	if x.Class != Admitted {
		s.Refused[x.Class]++
	}
}

// TurnAway counts a request that the server refuses before the model is asked.
// A body that has a hash counts as an arrival of it, so that the next one
// draws anew. A model of -1 means that none is known.
func (m *Model) TurnAway(now time.Duration, org, model int, hash [16]byte, class Class) {
	m.Advance(now)
	s := &m.orgs[org].nowhere
	if model >= 0 {
		s = &m.lanes[org][m.pool[model]].stats
	}
	s.Requests++
	s.Refused[class]++
	if hash != [16]byte{} {
		m.counts[m.bodyOf(hash)].arrivals++
	}
}

// Arrivals is how many requests with a body there were.
func (m *Model) Arrivals(hash [16]byte) uint32 {
	if i, ok := m.bodies[hash]; ok {
		return m.counts[i].arrivals
	}
	return 0
}

// settle ends an admitted exchange at now: slot, billing, counts.
func (m *Model) settle(now time.Duration, x *Exchange) {
	l := x.lane
	l.end(x)
	if x.phase == waiting {
		m.publish(x, x.Fault != DropBefore && x.Fault != ErrorFirst)
	}
	x.phase = finished
	if x.Other {
		l.org.others.requests++
	} else {
		m.bill(now, x)
	}
	if x.loose {
		m.free = append(m.free, x)
	}
}

// bill charges what was produced: a whole answer, or the part of it that there
// was when it broke off.
func (m *Model) bill(now time.Duration, x *Exchange) {
	l, s := x.lane, &x.lane.stats
	u := x.Usage
	x.cost = catalog[x.Model].cost(u, terms{us: x.US, fast: x.Fast})
	s.Requests++
	s.flying--
	s.InputTokens += u.prompt()
	s.OutputTokens += u.Output
	s.Billed += x.cost
	l.org.spent += x.cost
	l.daily.add(now, u.charged()+u.Output)
	l.record(m.minute(now), x.Model, false, u)
	if x.Complete() {
		s.Succeeded++
		if x.Answer == 0 {
			m.distinct++ // number 0 completes once, whatever the order
		}
	}
}

func (l *lane) record(minute int64, model int, batch bool, u Usage) {
	for i := len(l.usage) - 1; i >= 0 && l.usage[i].minute == minute; i-- {
		if l.usage[i].model == model && l.usage[i].batch == batch {
			l.usage[i].add(u)
			return
		}
	}
	l.usage = append(l.usage, minuteUse{minute, model, batch, u})
}

func (u *Usage) add(v Usage) {
	u.Input += v.Input
	u.Output += v.Output
	u.CacheWrite5m += v.CacheWrite5m
	u.CacheWrite1h += v.CacheWrite1h
	u.CacheRead += v.CacheRead
}

// Stats counts up to now.
func (m *Model) Stats(now time.Duration) Stats {
	m.Advance(now)
	st := Stats{Distinct: m.distinct, Orgs: make([]OrgStats, len(m.orgs))}
	for i := range m.orgs {
		o := &st.Orgs[i]
		o.Name = m.orgs[i].Name
		o.OtherRequests, o.OtherRefused = m.orgs[i].others.requests, m.orgs[i].others.refused
		o.Batches = m.queues[i].stats
		st.Succeeded += o.Batches.Succeeded
		st.Billed += o.Batches.Billed
		for _, l := range m.lanes[i] {
			if l.stats == (PoolStats{}) {
				continue
			}
			o.Pools = append(o.Pools, NamedPool{l.pool, l.stats})
			st.add(&l.stats)
		}
		if n := m.orgs[i].nowhere; n != (PoolStats{}) {
			o.Pools = append(o.Pools, NamedPool{"none", n})
			st.add(&n)
		}
	}
	return st
}

func (st *Stats) add(p *PoolStats) {
	st.Requests += p.Requests
	st.Succeeded += p.Succeeded
	st.Billed += p.Billed
}

// InFlight is how many of our answers an org has in flight in all its pools.
func (m *Model) InFlight(org int) int {
	n := int64(0)
	for _, l := range m.lanes[org] {
		n += l.stats.flying
	}
	return int(n)
}

// Level is what a pool's bucket holds at now, for tests of others' laws; +Inf
// where there is no limit.
func (m *Model) Level(now time.Duration, org int, pool string, d Dim) float64 {
	m.Advance(now)
	l := m.lanes[org][poolIndex(pool)]
	l.advance(now)
	if d == Tokens {
		return l.workspace.level
	}
	return l.dims[d].level
}
