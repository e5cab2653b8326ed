package plan

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/internal/sched"
)

// usualOutSD is the spread of answers' lengths where nothing is known of it: of
// the logarithm, a factor of 1.35.
const usualOutSD = 0.3

// sizes is how many call sizes a class is rehearsed with: drawn once, so that
// a million calls need no million draws, and enough that their means are the
// class's.
const sizes = 512

// lot is one class ready for a rehearsal: calls of its sizes in turn.
type lot struct {
	share float64 // of the job's calls up to and with this lot
	alone bool
	calls [sizes]Call
	hash  uint64
}

// outSD is the spread of a class's answers, out of mean and 95th percentile of
// a lognormal: ln(p95/mean) = 1.645 s − s²/2.
func (c *Class) outSD() float64 {
	if c.OutP95 <= c.Out || c.Out <= 0 {
		return usualOutSD
	}
	const z = 1.6449
	return z - math.Sqrt(max(0, z*z-2*math.Log(c.OutP95/c.Out)))
}

// inSD is the spread of a class's inputs as that of a logarithm.
func (c *Class) inSD() float64 {
	if c.In <= 0 {
		return 0
	}
	r := c.InDev / c.In
	return math.Sqrt(math.Log1p(r * r))
}

// lognormalAt is the quantile z of a lognormal with the given mean.
func lognormalAt(mean, sd, z float64) float64 { return mean * math.Exp(sd*z-sd*sd/2) }

// lot draws a class's calls. in and out are by what its means are believed to be off.
func (w *supposed) lot(c *Class, alone bool, in, out float64) *lot {
	l := &lot{alone: alone, hash: hashOf(c.Model, alone)}
	model := w.models[c.Pool]
	inSD, outSD := c.inSD(), c.outSD()
	limit := max(1, math.Round(c.MaxTokens))
	for i := range sizes {
		// Every quantile once, in an order that is no order: the means are exact.
		z := normalAt((float64(i) + 0.5) / sizes)
		z2 := normalAt((float64(i*197%sizes) + 0.5) / sizes)
		est := max(1, math.Round(lognormalAt(c.In, inSD, z2)))
		got := max(1, math.Round(lognormalAt(min(c.Out, limit)*out, outSD, z)))
		a := emulator.Arrival{
			Model: model, Est: int64(est), MaxTokens: int64(limit), Out: int64(min(got, limit)),
			In: int64(max(1, math.Round(est*in))),
		}
		if c.Prefix > 0 {
			p := c.prefix(l.hash, i)
			a.Prefixes = []emulator.Prefix{p}
			a.In = int64(max(1, math.Round((est-float64(p.Tokens))*in)))
		}
		call := sched.Call{In: int32(est), MaxOut: int32(limit), Out: int32(math.Round(c.Out)), Worst: w.worst(c, est)}
		if c.OutBound {
			call.Out = 0
		}
		if c.Prefix > 0 {
			h := &a.Prefixes[0].Hash
			call.Affinity = max(1, binary.LittleEndian.Uint32(h[:])^binary.LittleEndian.Uint32(h[8:]))
		}
		l.calls[i] = Call{Sched: call, Arrival: a, Size: int64(c.Bytes), Alone: alone}
	}
	return l
}

// prefix is the marked beginning of a call's prompt.
func (c *Class) prefix(of uint64, i int) emulator.Prefix {
	p := emulator.Prefix{Tokens: int64(min(c.Prefix, c.In)), TTL: 5 * time.Minute}
	if c.Hour {
		p.TTL = time.Hour
	}
	putHash(&p.Hash, of, uint64(i%max(c.Prefixes, 1)))
	return p
}

// worst is what a call of so much input is reserved at, by sync: the class's
// own mean, spread by size.
func (w *supposed) worst(c *Class, in float64) int64 {
	if c.Worst > 0 && c.Rows > 0 {
		mean := float64(c.Worst) / float64(c.Rows)
		return int64(math.Ceil(mean * (0.5 + 0.5*in/max(c.In, 1))))
	}
	m, _ := w.job.prices().Lookup(c.Model)
	return int64(m.Worst(int64(1.5*in)+100, int64(c.MaxTokens), c.Prefix > 0, c.Hour, false, false, false))
}

func hashOf(model string, alone bool) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(model) {
		h = (h ^ uint64(model[i])) * 1099511628211
	}
	if alone {
		h = (h ^ 1) * 1099511628211
	}
	return h
}

// normalAt is the quantile p of the standard normal distribution.
func normalAt(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }
