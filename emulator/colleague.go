package emulator

import (
	"encoding/binary"
	"math"
	"time"
)

// newColleague makes the client that acts a Colleague out on one lane.
func newColleague(m *Model, l *lane, nth int, c Colleague, now time.Duration) Client {
	if c.In == 0 {
		c.In = 2000
	}
	if c.Out == 0 {
		c.Out = 60
	}
	b := worker{Colleague: c, org: l.org.index, pool: l.index, model: firstModel(l.index)}
	b.id = mix(m.seed, uint64(l.org.index)<<40|uint64(l.index)<<20|uint64(nth))
	b.from = max(now, c.From)
	switch c.Kind {
	case "burst":
		return newBurst(b)
	case "aimd":
		return &aimd{worker: b, window: 4, next: b.from}
	}
	p := &poisson{worker: b}
	p.every = time.Minute
	if rate := c.Share * l.dims[Input].limit / float64(c.In); rate > 0 {
		p.every = seconds(60 / rate)
	}
	p.draw(b.from)
	return p
}

func firstModel(pool int) int {
	for i := range catalog {
		if catalog[i].pool == pools[pool] {
			return i
		}
	}
	return 0 // every pool has a model
}

// worker is what all colleagues share.
type worker struct {
	Colleague
	org, pool, model int
	id               uint64
	sent             uint64
	from             time.Duration
}

// arrival is the next request; its hash is new each time.
func (w *worker) arrival() Arrival {
	w.sent++
	a := Arrival{
		Org: w.org, Model: w.model, Est: w.In, In: w.In, Out: w.Out, MaxTokens: w.Out,
		Stream: true, Other: true,
	}
	binary.LittleEndian.PutUint64(a.Hash[:8], w.id)
	binary.LittleEndian.PutUint64(a.Hash[8:], w.sent)
	return a
}

func (w *worker) key() key { return key{w.id, mix(w.sent, w.id)} }

// allow moves an instant to when the colleague is there: out of its rests, and
// never after it has left.
func (w *worker) allow(at time.Duration) time.Duration {
	if w.Off > 0 && w.On > 0 {
		if past := (at - w.from) % (w.On + w.Off); past >= w.On {
			at += w.On + w.Off - past
		}
	}
	if w.Until > 0 && at >= w.Until {
		return Never
	}
	return at
}

// poisson sends independent requests and takes refusals as they come.
type poisson struct {
	worker
	every time.Duration // mean
	next  time.Duration
}

func (p *poisson) draw(after time.Duration) {
	gap := -math.Log(1-p.key().uniform(drawColleague)) * p.every.Seconds()
	p.next = p.allow(after + seconds(gap))
}

func (p *poisson) Next() time.Duration { return p.next }

func (p *poisson) Act(now time.Duration, m *Model) {
	m.Release(m.Arrive(now, p.arrival()))
	p.draw(now)
}

// burst sends many requests within a short time, again and again.
type burst struct {
	worker
	left  int // of this burst
	began time.Duration
	next  time.Duration
}

func newBurst(w worker) *burst {
	if w.Requests == 0 {
		w.Requests = 25
	}
	if w.Over == 0 {
		w.Over = time.Second
	}
	if w.Every == 0 {
		w.Every = time.Minute
	}
	b := &burst{worker: w}
	b.start(w.from + w.Every/2) // not at once: the other side has to be at work to notice
	return b
}

func (b *burst) start(at time.Duration) {
	b.began = b.allow(at)
	b.next, b.left = b.began, b.Requests
}

func (b *burst) Next() time.Duration { return b.next }

func (b *burst) Act(now time.Duration, m *Model) {
	m.Release(m.Arrive(now, b.arrival()))
	b.left--
	if b.left == 0 {
		b.start(b.began + b.Every)
		return
	}
	b.next = now + b.Over/time.Duration(b.Requests)
}

// aimd is a plain client that always has work: it keeps a window of requests
// in flight, adds 5 % a round without refusal and halves it after one
// (facts/control.md F.2, first column).
type aimd struct {
	worker
	window  float64
	flight  []*Exchange
	round   time.Duration // end of this round
	refused bool          // in this round
	next    time.Duration
}

func (a *aimd) Next() time.Duration { return a.next }

func (a *aimd) Act(now time.Duration, m *Model) {
	a.collect(now, m)
	if now >= a.round {
		a.turn(now)
	}
	hold := time.Duration(0)
	for gone := a.allow(now) != now; !gone && hold == 0 && len(a.flight) < int(a.window); {
		x := m.Arrive(now, a.arrival())
		if x.Class == Admitted {
			a.flight = append(a.flight, x)
			continue
		}
		hold = max(time.Second, x.RetryAfter)
		if !a.refused {
			a.refused = true
			a.window = max(1, a.window/2)
		}
		m.Release(x)
	}
	a.plan(now, hold)
}

// turn begins a round: as long as a second, or as the oldest answer takes.
func (a *aimd) turn(now time.Duration) {
	most := a.Window
	if most == 0 {
		most = 200
	}
	if !a.refused && a.round > 0 {
		a.window = min(float64(most), a.window+max(1, 0.05*a.window))
	}
	a.refused = false
	a.round = now + time.Second
	for _, x := range a.flight {
		a.round = max(a.round, x.End)
	}
}

func (a *aimd) collect(now time.Duration, m *Model) {
	kept := a.flight[:0]
	for _, x := range a.flight {
		if x.End > now {
			kept = append(kept, x)
			continue
		}
		m.Release(x)
	}
	clear(a.flight[len(kept):])
	a.flight = kept
}

// plan wakes at the next end, or when the hold is over.
func (a *aimd) plan(now, hold time.Duration) {
	a.next = a.allow(now + time.Second)
	for _, x := range a.flight {
		a.next = min(a.next, x.End)
	}
	if hold > 0 {
		a.next = a.allow(now + hold)
	}
	if a.next <= now {
		a.next = now + time.Millisecond
	}
}
