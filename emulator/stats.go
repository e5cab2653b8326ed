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
	Name  string
	Pools []NamedPool // those that saw a request, in the catalog's order
	// Colleagues' requests and refusals, over all pools.
	OtherRequests, OtherRefused int64
}

// NamedPool is a pool's stats with its name.
type NamedPool struct {
	Pool string
	PoolStats
}

// Stats counts our requests since the model began.
type Stats struct {
	Requests  int64
	Succeeded int64 // whole answers
	Distinct  int64 // bodies among them
	Billed    int64 // nano-dollars
	Orgs      []OrgStats
}

// minuteUse is one model's billed use in one minute of the model's time.
type minuteUse struct {
	minute int64
	model  int
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
	s.Refused[x.Class]++
}

// settle ends an admitted exchange at now: slot, billing, counts.
func (m *Model) settle(now time.Duration, x *Exchange) {
	l := x.lane
	l.end(x)
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
	l.record(int64(now/time.Minute), x.Model, u)
	if x.Complete() {
		s.Succeeded++
		if x.Answer == 0 {
			m.distinct++ // number 0 completes once, whatever the order
		}
	}
}

func (l *lane) record(minute int64, model int, u Usage) {
	for i := len(l.usage) - 1; i >= 0 && l.usage[i].minute == minute; i-- {
		if l.usage[i].model == model {
			l.usage[i].add(u)
			return
		}
	}
	l.usage = append(l.usage, minuteUse{minute, model, u})
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
		for _, l := range m.lanes[i] {
			if l.stats.Requests == 0 && l.stats.flying == 0 {
				continue
			}
			o.Pools = append(o.Pools, NamedPool{l.pool, l.stats})
			st.Requests += l.stats.Requests
			st.Succeeded += l.stats.Succeeded
			st.Billed += l.stats.Billed
		}
	}
	return st
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
