package emulator

import (
	"math"
	"time"
)

// Arrive is one request that has been read whole at now. What comes back is
// fixed: refusal, latency, faults and answer. The caller calls Finish at its
// End or Cancel before, and Release when it has read what it needs.
func (m *Model) Arrive(now time.Duration, a Arrival) *Exchange {
	m.Advance(now)
	x := m.get()
	x.Arrival = a
	x.At, x.End, x.pos = now, now, -1
	x.lane = m.lanes[a.Org][m.pool[a.Model]]
	k := m.arrivalKey(x)
	l := x.lane
	m.touch(now, l, a.Other)
	l.advance(now)
	if a.Reused && k.chance(drawReused, m.sc.Flaky.Reused) {
		x.Fault, x.phase = ReusedReset, finished
		m.ended(x)
		return x
	}
	m.split(now, x)
	if m.refuse(now, x, k) {
		x.phase = finished
		m.ended(x)
		return x
	}
	m.begin(now, x, k)
	return x
}

// arrivalKey counts the arrival and gives its key. A colleague's body is not
// kept: its hash is new each time.
func (m *Model) arrivalKey(x *Exchange) key {
	if x.Other {
		return bodyKey(m.seed, x.Hash, 0)
	}
	x.body = m.bodyOf(x.Hash)
	b := &m.counts[x.body]
	x.Arrived = b.arrivals
	b.arrivals++
	return bodyKey(m.seed, x.Hash, x.Arrived)
}

// bodyOf finds the counts of a body.
func (m *Model) bodyOf(hash [16]byte) int32 {
	i, ok := m.bodies[hash]
	if !ok {
		i = int32(len(m.counts))
		m.bodies[hash] = i
		m.counts = append(m.counts, body{})
	}
	return i
}

// begin admits: it fixes answer, latency and faults.
func (m *Model) begin(now time.Duration, x *Exchange, k key) {
	l := x.lane
	x.Status = 200
	l.admit(x)
	m.peak(x)
	m.keep(now, x)
	m.read(l, k, now, &x.Reading)
	m.usage(x)
	m.answer(x)
	m.schedule(now, x, k)
	m.spoil(now, x, k)
	if x.Fault != NoFault {
		m.giveBack(x)
	}
	x.due = min(x.FirstToken, x.End)
	m.queue.push(x)
	m.settleUntil(now) // an answer without latency ends at once
}

// usage fixes the input tokens that are billed.
func (m *Model) usage(x *Exchange) {
	if x.In == 0 {
		x.In = m.trueInput(x.Est, x.Hash)
	}
	x.Usage = Usage{Input: x.In, CacheWrite5m: x.CacheWrite5m, CacheWrite1h: x.CacheWrite1h, CacheRead: x.CacheRead}
}

// answer takes the next number of a complete answer and draws its length.
func (m *Model) answer(x *Exchange) {
	if x.Other {
		x.Usage.Output = min(x.Out, x.MaxTokens)
		x.Full = x.Usage.Output
		return
	}
	x.Answer = m.takeAnswer(x.body)
	switch {
	case x.MaxTokens == 0:
		x.Out, x.Stop = 0, MaxTokens
	case x.Out == 0:
		x.Out, x.Stop = m.sc.length(m.answerKey(x.Hash, x.Answer), x.MaxTokens)
	case x.Out > x.MaxTokens:
		x.Out, x.Stop = x.MaxTokens, MaxTokens
	}
	if room := max(1, catalog[x.Model].context-x.Usage.prompt()); x.Out > room {
		x.Out, x.Stop = room, WindowExceeded
	}
	x.Usage.Output, x.Full = x.Out, x.Out
}

// length draws how long an answer is (interface.md "Emulator").
func (sc *Scenario) length(k key, maxTokens int64) (int64, Stop) {
	median := sc.Answer.Median
	if median == 0 {
		median = 60
	}
	median = min(median, 0.6*float64(maxTokens))
	n := max(1, int64(math.Round(k.lognormal(drawOutput, median, sc.Answer.SD))))
	if n > maxTokens {
		return maxTokens, MaxTokens
	}
	return n, EndTurn
}

// longest bounds both parts of a latency, so that no scenario's numbers run
// over the time line.
const longest = 24 * time.Hour

// schedule draws the latency (facts/control.md D).
func (m *Model) schedule(now time.Duration, x *Exchange, k key) {
	p := &m.pace[x.Model]
	stretch := 1.0
	if s := &m.sc.Stragglers; k.chance(drawStraggler, s.Share) {
		stretch = s.Min + (s.Max-s.Min)*k.uniform(drawStretch)
	}
	ttft := k.lognormal(drawTTFT, p.TTFT.Seconds(), p.TTFTSD)
	if p.Prefill > 0 {
		ttft += float64(x.Usage.charged()) / p.Prefill // what is read from the cache is not processed again
	}
	x.FirstToken = now + min(longest, seconds(ttft*stretch))
	x.End = x.FirstToken
	if p.PerSecond > 0 && x.Full > 0 {
		x.rho = k.lognormal(drawRate, p.PerSecond, p.PerSecondSD) / stretch
		if n := float64(x.lane.inFlight); m.sc.LoadKnee > 0 {
			x.rho /= 1 + (n/m.sc.LoadKnee)*(n/m.sc.LoadKnee)
		}
		x.End += min(longest, seconds(float64(x.Full)/x.rho))
		if x.End == x.FirstToken {
			x.rho = 0
		}
	}
	x.FirstByte = x.End
	if x.Stream {
		x.FirstByte = x.FirstToken
	}
}

func (m *Model) peak(x *Exchange) {
	if s := &x.lane.stats; !x.Other {
		s.flying++
		s.PeakInFlight = max(s.PeakInFlight, s.flying)
	}
}
