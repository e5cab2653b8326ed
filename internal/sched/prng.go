package sched

import (
	"math/rand/v2"
	"time"
)

// prng is a core's source of chance: the same seed gives the same run.
type prng struct{ r *rand.Rand }

func (p *prng) seed(s, stream uint64) { p.r = rand.New(rand.NewPCG(s, stream)) }

// upTo draws a duration between 0 and d.
func (p *prng) upTo(d time.Duration) time.Duration {
	return time.Duration(p.r.Float64() * float64(d))
}

// longer lengthens d by up to a share of it: waits that the provider asked for
// are jittered up, never shortened (facts/control.md B.6).
func (p *prng) longer(d time.Duration, share float64) time.Duration {
	return d + time.Duration(p.r.Float64()*share*float64(d))
}

// around draws between (1-share) and (1+share) of d.
func (p *prng) around(d time.Duration, share float64) time.Duration {
	return time.Duration(float64(d) * (1 - share + 2*share*p.r.Float64()))
}
