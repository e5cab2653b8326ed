package dashboard

import (
	"sync"
	"time"

	"github.com/flotilla-llm/flotilla"
)

// paceSpan is how far back a rate looks; below paceLeast it would mean nothing.
const (
	paceSpan  = time.Minute
	paceLeast = 5 * time.Second
)

// pace is how fast a job's rows settle, by looks at it.
type pace struct {
	mu    sync.Mutex
	looks []paceLook
}

type paceLook struct {
	at      time.Time
	settled int
}

// look notes how many rows had settled.
func (p *pace) look(at time.Time, settled int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.looks); n > 0 && at.Sub(p.looks[n-1].at) > paceSpan/2 {
		p.looks = p.looks[:0] // nobody looked for long: the rate since then is not that of now
	}
	p.looks = append(p.looks, paceLook{at, settled})
	for len(p.looks) > 2 && at.Sub(p.looks[1].at) >= paceSpan {
		p.looks = p.looks[1:]
	}
}

// perMinute is the rate of the last minute; ok is false where it is not known.
func (p *pace) perMinute() (rate float64, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.looks) < 2 {
		return 0, false
	}
	first, last := p.looks[0], p.looks[len(p.looks)-1]
	took := last.at.Sub(first.at)
	if took < paceLeast {
		return 0, false
	}
	return float64(last.settled-first.settled) / took.Minutes(), true
}

// batched is what of a job is in batches at the provider.
type batched struct {
	rows  int
	ends  time.Time // the last of them, on the machine's clock
	known bool      // of all of them it is known when they are expected to end
}

func batchedOf(s *flotilla.Snapshot, job int64, t timeline) batched {
	b := batched{known: true}
	if s == nil {
		return b
	}
	for i := range s.Batches {
		one := &s.Batches[i]
		if one.Job != job {
			continue
		}
		b.rows += one.Rows
		end := t.of(one.Expected)
		if end == nil || one.Stalled || !end.After(t.real) {
			b.known = false // or it is late, and nobody knows by how much
			continue
		}
		if end.After(b.ends) {
			b.ends = *end
		}
	}
	return b
}

// farAway is what is no forecast any more.
const farAway = 30 * 24 * time.Hour

// eta is when a job ends: the later of its last batch and of the rows that are
// in none, at the rate of the last minute. Zero: it is not known. Batches end in
// lumps, so a rate says nothing of rows that are in them.
func eta(now time.Time, pending int, rate float64, rateKnown bool, b batched) time.Time {
	free := pending - b.rows
	if pending <= 0 || b.rows > 0 && !b.known {
		return time.Time{}
	}
	if free <= 0 {
		return b.ends
	}
	if !rateKnown || rate <= 0 {
		return time.Time{}
	}
	takes := time.Duration(min(float64(free)/rate*float64(time.Minute), float64(2*farAway)))
	if takes > farAway {
		return time.Time{}
	}
	if end := now.Add(takes); end.After(b.ends) {
		return end
	}
	return b.ends
}
